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
abort accept access accumulate acquire act activate adapt add adjust adopt advance aggregate allocate allow
alter amend analyse analyze announce answer append apply approve arrange ask assemble assert assign assume
attach attempt authenticate await back balance base batch be become begin bind bite block book bootstrap bound
break brew bring brush build bump burn buy bypass cache calculate call cancel capture carry cast catch change
charge check choose claim classify clean cleanup clear climb clone close coerce collapse collect combine come
commit compare compile complete compose compress compute concatenate configure confine confirm connect construct
consume contain continue convert copy correct count cover create cut deal debug decide declare decode decompress
decorate decrease deduce define delegate delete deliver deny deploy derive describe deserialize destroy detach
detect determine dial dig disable discard disconnect dispatch display divide do double draw drop dump duplicate
emit empty emulate enable encode encrypt end enforce enqueue ensure enter enumerate erase escape establish
estimate evaluate examine exclude execute exercise exit expand expect explain export expose express extend
extract fail fall feed fetch fill filter finalize find finish fit fix flatten flush fly follow forbid force
forget fork format forward free freeze fulfil fuzz gather generate get give go grant greet group guard guess
halt halve hand handle hang hash have hear help hide hire hold identify ignore implement import include increase
increment indent index indicate infer inform inherit initialise initialize inject insert insist inspect install
instantiate instrument intercept interpret interrupt invalidate invoke issue iterate join judge keep kill knock
know label launch leap leave lend let level lie limit link lint list listen load locate lock log look lose lower
make manage map mark mask match measure meet merge migrate mimic modify monitor mount move multiply name narrow
negate normalise normalize note notify number observe obtain occupy offer omit open order output override
overwrite pack pad paint pair parse partition pass patch pause pay peek perform permit persist pick ping place
plant play poll pop populate position post prefix prepare present preserve press prevent print probe proceed
process produce profile promise prompt propagate protect prove provide prune publish pull purge push put quit
quote raise rank re-raise reach read rebuild recall receive recognise recognize recompute record recover redact
redirect reduce refer reflect refresh refund refuse register reject release reload remember remind remove rename
render reopen repair repeat replace replay reply report represent request require reset resolve respond restart
restore restrict resume retain retrieve retry return reuse reverse revert review revoke rewind rewrite ring roll
rotate round route run sample sanitize satisfy save say scan schedule score search see seek select sell send
separate serialise serialize serve set settle share sharpen shift shine shorten shout show shrink shut shutdown
sign signal simplify simulate skip slam sleep slice snapshot sort spawn specify spell split spoil spread stamp
stand start state step stick stop store stream strip structure submit subscribe substitute subtract succeed sum
summarise summarize supply support suppress suspend swap switch synchronize tag take talk teach tell terminate
test think throw tick tie tokenize toss touch trace track train transfer transform translate transmit traverse
treat trigger trim truncate trust try turn unbind undo unify uninstall unlink unlock unpack unregister unset
unstructure unwrap update upgrade upload use validate verify visit wait walk warn watch wave weigh widen wipe
withdraw word work wrap write yield
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
