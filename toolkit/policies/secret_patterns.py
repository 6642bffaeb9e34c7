"""
Texts that look like keys, tokens and passwords.

The patterns find what was copied by mistake. They cannot find every secret: a password is a text like any other.
"""

from __future__ import annotations

import re

__all__ = ["SECRET_PATTERNS", "find_secret"]

# How the tokens of each service begin and go on. A service whose tokens look like any other text is not here.
_TOKENS = {
    "1Password": r"ops_eyJ[\w-]{40,}|A3-[A-Z0-9]{6}-[A-Z0-9]{6,}-[A-Z0-9-]{10,}",
    "age": r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    "Airtable": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{40,}",
    "Alibaba": r"LTAI[A-Za-z0-9]{12,}",
    "Amazon": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?!\w)|ABSK[A-Za-z0-9+/]{80,}={0,2}",
    "Anthropic or OpenAI": r"sk-[\w-]{16,}",
    "Apify": r"apify_api_[A-Za-z0-9]{30,}",
    "Atlassian": r"AT(?:ATT3|CTT3|BB)[\w=-]{24,}",
    "Azure": r"[\w~.]{3}\dQ~[\w~.-]{31,}",
    "Brevo": r"xkeysib-[a-f0-9]{60,}-\w{10,}",
    "Buildkite": r"bk[a-z]{1,2}_[a-f0-9]{30,}",
    "Cerebras": r"csk-[a-z0-9]{30,}",
    "CircleCI": r"CCI(?:PAT|PRJ)_\w{10,}_[a-f0-9]{30,}",
    "Cloudflare": r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}",
    "Contentful": r"CFPAT-[\w-]{40,}",
    "Databricks": r"dapi[a-f0-9]{32}(?:-\d)?",
    "DigitalOcean": r"do[opr]_v1_[a-f0-9]{40,}",
    "Discord": r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
    "Docker": r"dckr_[po]at_[\w-]{20,}",
    "Doppler": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}",
    "Dropbox": r"sl\.[\w-]{60,}",
    "Duffel": r"duffel_(?:live|test)_[\w-]{40,}",
    "Dynatrace": r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{60,}",
    "ElevenLabs": r"sk_[a-f0-9]{40,}",
    "Figma": r"fig[dou]r?_[\w-]{20,}",
    "Firecrawl": r"fc-[a-f0-9]{32}",
    "Fly": r"fm[12]_[\w+/=-]{40,}|fo1_[\w-]{30,}",
    "GitHub": r"gh[opusr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}",
    "GitLab": r"gl(?:pat|ptt|dt|rt|rtr|cbt|soat|ft|imt|agent|oas|ffct|wt)-[\w.-]{16,}|GR1348941[\w-]{20,}",
    "Google": r"AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1//0[\w-]{30,}",
    "Grafana": r"glsa_[A-Za-z0-9]{20,}\w*|glc_[\w+/=-]{30,}",
    "Groq": r"gsk_[A-Za-z0-9]{30,}",
    "Heroku": r"HRKU-[\w-]{30,}",
    "Hugging Face": r"hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{30,}",
    "Jina": r"jina_[A-Za-z0-9_-]{40,}",
    "LangSmith": r"lsv2_(?:pt|sk)_[a-f0-9_]{30,}",
    "Linear": r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    "Mailchimp": r"[a-f0-9]{32}-us\d{1,2}(?!\w)",
    "Mailgun": r"key-[a-f0-9]{32}(?!\w)",
    "Meta": r"EAA[A-Za-z0-9]{60,}",
    "Netlify": r"nf[pcubo]_[A-Za-z0-9]{30,}",
    "New Relic": r"NR(?:AK|JS|II|RA|IQ)-[\w-]{20,}",
    "Notion": r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{40,}",
    "npm": r"npm_[A-Za-z0-9]{30,}",
    "NuGet": r"oy2[a-z0-9]{43}(?!\w)",
    "Nvidia": r"nvapi-[\w-]{30,}",
    "Perplexity": r"pplx-[A-Za-z0-9]{30,}",
    "Pinecone": r"pcsk_\w{30,}",
    "PlanetScale": r"pscale_(?:tkn|pw|oauth)_[\w.=-]{20,}",
    "PostHog": r"phx_[A-Za-z0-9]{30,}",
    "Postman": r"PMAK-[a-f0-9]{24}-[a-f0-9]{30,}",
    "Pulumi": r"pul-[a-f0-9]{40}",
    "PyPI": r"pypi-[\w-]{40,}",
    "Replicate": r"r8_[A-Za-z0-9]{30,}",
    "Resend": r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}",
    "RubyGems": r"rubygems_[a-f0-9]{40,}",
    "SendGrid": r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "Sentry": r"sntry[su]_[\w+/=-]{30,}",
    "Shippo": r"shippo_(?:live|test)_[a-f0-9]{40}",
    "Shopify": r"shp(?:at|ca|pa|ss|rt)_[A-Fa-f0-9]{30,}",
    "Slack": r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}|xapp-\d-[\w-]{10,}|https://hooks\.slack\.com/[\w/]{20,}",
    "Sourcegraph": r"sg[pd]_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40,}",
    "Square": r"sq0[a-z]{3}-[\w-]{20,}|EAAA[\w-]{56,}",
    "Stripe": r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}",
    "Supabase": r"sbp_[a-f0-9]{40,}|sb_secret_[\w-]{20,}",
    "Tailscale": r"tskey-[\w-]{20,}",
    "Tavily": r"tvly-[\w-]{20,}",
    "Telegram": r"\d{8,10}:AA[\w-]{33}",
    "Terraform": r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}",
    "Twilio": r"SK[a-f0-9]{32}(?!\w)",
    "Typeform": r"tfp_[\w-]{40,}",
    "Vault": r"hv[sbr]\.[\w-]{20,}",
    "Voyage": r"pa-[\w-]{40,}",
    "Weights & Biases": r"wandb_v1_\w{30,}",
    "WooCommerce": r"c[ks]_[a-f0-9]{40}",
    "xAI": r"xai-[A-Za-z0-9]{30,}",
}
# A text in which the secret is only a part is covered with the words that say so.
_SAID = {
    "a private key": r"(?s:-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,60}-----|\Z))",
    "a signed token": r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
    "a password in an address": r"(?i:\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:[^\s/@]{3,200}@)",
    "a webhook": r"(?i:https://(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}"
    r"|https://[\w.-]+\.webhook\.office\.com/webhookb2/[\w@/-]{30,}|https://hooks\.zapier\.com/hooks/catch/[\w/]{8,})",
    "the header of a request": r"(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:basic|bearer|token)\s{1,3}[\w.~+/=-]{8,}|\bbearer\s{1,3}(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{20,})",
    "a password or key": r"(?i:(?<![A-Za-z0-9])(?:\w{0,40}_)?"
    r"(?:(?:pg)?password|passwd|passphrase|pwd|secret|(?:api|account|access|accesskey|private|signing)[_-]?key"
    r"|(?:auth|access|refresh)[_-]?token|sharedaccess(?:key|signature))"
    r"[\"']?\s{0,3}(?:[:=]|\bis\b)\s{0,3}[\"'`]?(?=[^\s\"'`]{0,200}[0-9!$%&*#@])[^\s\"'`<>{]{6,})",
}

# One expression for all tokens is fifteen times faster than one for each service.
_TOKEN = rf"(?<![A-Za-z0-9])(?=[A-Za-z0-9])(?:{'|'.join(_TOKENS.values())})"
SECRET_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in (("a key or token", _TOKEN), *_SAID.items()))
"""What a text seems to hold, and the pattern that covers all of it."""


def find_secret(text: str) -> str | None:
    """Return what *text* seems to hold, such as "a private key", or None."""
    return next((kind for kind, pattern in SECRET_PATTERNS if pattern.search(text)), None)
