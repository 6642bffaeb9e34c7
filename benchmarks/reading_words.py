"""Words by which `benchmarks.reading` tells how a program reads."""

from __future__ import annotations

__all__ = ["NOT_PARTICIPLES", "PARTICIPLES", "PLACEHOLDERS", "PRONOUNS", "VERBS"]

_PRONOUNS = """
anybody everybody nobody somebody stranger strangers whatever whoever
"""
_PLACEHOLDERS = """
asked each found given gone heard held kept known made meant one ones put said seen shown stuff taken thing
things told wanted what whom
"""
_PARTICIPLES = """
begun born bought bound broken brought built caught chosen dealt done drawn driven fallen felt forbidden
foreseen forgotten found frozen given gone grown heard held hidden kept known laid led left lent lit lost made
meant met overdue paid risen said seen shaken shown sold sought spent spoken stolen stood struck sworn taken
taught thought thrown told torn understood woken won worn written
"""
_NOT_PARTICIPLES = """
bed bleed breed deed embed exceed fed feed heed hundred id indeed led naked need proceed red reed sacred seed
shed speed succeed unused weed
"""
_VERBS = """
abort accept access accumulate acquire act activate adapt add adjust advance aggregate allocate allow alter amend
analyse analyze announce answer append apply approve arrange ask assemble assert assign assume attach attempt
authenticate await back balance base batch become begin bind block book bootstrap bound break bring build bump
bypass cache calculate call cancel capture carry cast catch change charge check choose claim classify clean
cleanup clear clone close coerce collapse collect combine come commit compare compile complete compose
compress compute concatenate configure confine confirm connect construct consume contain continue convert copy
correct count cover create cut deal debug decide declare decode decompress decorate decrease deduce define
delegate delete deliver deny derive describe deserialize destroy detach detect determine disable discard
disconnect dispatch display divide do draw drop dump duplicate emit emulate enable encode encrypt end enforce
enqueue ensure enter enumerate erase escape establish estimate evaluate examine exclude execute exercise exit
expand expect explain export expose express extend extract fail fetch fill filter finalize find finish fit fix
flatten flush follow forbid force forget format forward free freeze fulfil gather generate get give go grant
group guard guess halt hand handle hash hide hold identify ignore implement import include increase increment
indent index indicate infer inform inherit initialise initialize inject insert insist inspect install
instantiate instrument intercept interpret interrupt invalidate invoke issue iterate join judge keep kill know
label launch leave lend let level limit link lint list listen load locate lock log look lower make manage map
mark mask match measure merge migrate mimic modify monitor mount move multiply name narrow negate normalise
normalize note notify number observe obtain occupy offer omit open order output override overwrite pack pad
pair parse partition pass patch pause peek perform permit persist pick place play poll pop populate position
post prefix prepare present preserve press prevent print proceed process produce profile promise prompt
propagate protect prove provide prune publish pull purge push put quit quote raise rank re-raise reach read
rebuild recall receive recognise recognize recompute record recover redact redirect reduce refer reflect
refresh refuse register reject release reload remember remind remove rename render reopen repair repeat
replace replay reply report represent request require reset resolve respond restart restore restrict resume
retain retrieve retry return reuse reverse revert revoke rewind rewrite roll rotate round route run sample
sanitize satisfy save say scan schedule score search seek select send separate serialise serialize serve set
settle share shift shorten show shrink shut shutdown sign signal simplify simulate skip sleep slice snapshot
sort spawn specify spell split spread stamp stand start state step stop store stream strip structure submit
subscribe substitute subtract succeed sum summarise summarize supply support suppress suspend swap switch
synchronize tag take teach tell terminate test throw tie tokenize trace track train transfer transform
translate transmit traverse treat trigger trim truncate trust try turn unbind undo unify uninstall unlink
unlock unpack unregister unset unstructure unwrap update upgrade upload use validate verify visit wait walk
warn watch weigh widen withdraw word work wrap write yield
"""

PRONOUNS = frozenset(_PRONOUNS.split())
"""Words that stand where a sentence should name the caller, the tool, the model or the user."""
PLACEHOLDERS = frozenset(_PLACEHOLDERS.split())
"""Names of variables that say nothing about what the variable holds."""
PARTICIPLES = frozenset(_PARTICIPLES.split())
"""Past participles that do not end in -ed, and are no present tense and no noun."""
NOT_PARTICIPLES = frozenset(_NOT_PARTICIPLES.split())
"""Words in -ed that are no past participle."""
VERBS = frozenset(_VERBS.split())
"""Verbs that open a docstring in the imperative."""
