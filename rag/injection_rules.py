"""The shapes of sentences that speak to a reader; ``rag/injection.py`` applies them.

Patterns meet folded text: lower case, no accents, one kind of quotation mark, and ``⟦⟧`` where
something was quoted. A name in angle brackets stands for a fragment. Every gap is bounded, so each
pattern takes time linear in the text.
"""

import re
from dataclasses import dataclass

ORDERS = "it gives orders to the reader instead of reporting research"
DICTATES = "it dictates what an answer has to say instead of reporting research"
IMITATES = "it imitates the marks of a prompt or of a numbered source"
HIDES = "it hides text that a reader does not see"
CALLS = "it holds a call or an address that a program is meant to run or fetch"
JUDGES = "it pronounces on other papers or on its own rank with an authority that it cannot show"
STUFFED = "it lists words in order to be found and reports nothing"
CONTINUES = "it continues a sentence that gives orders to the reader"
QUOTED = "⟦⟧"

_FRAGMENTS = {
    "machine": r"(?:(?:ai|a\.i\.)(?: (?:system|model|assistant|agent|reviewer|reader|tool)s?)?"
    r"|llms?|(?:large )?language models?|(?:(?:answering|virtual|research) )?(?:assistant|bot"
    r"|grader|evaluator)s?"
    r"|chat ?bots?|chatgpt|gpt(?:-?\d\w*)?|claude|gemini|copilot|summari[sz]ers?"
    r"|(?:answer|(?:question )?answering|search|rag|retrieval) (?:engine|machine|system)s?"
    r"|(?:automated|machine) (?:reader|reviewer|system)s?)",
    "reader": r"(?:(?:(?:dear|to|the|any|all|every|each|this|whichever) )*(?:<machine>"
    r"|reviewers?|readers?|referees?|model|system|agent|meta-?reviewers?|area chairs?)"
    r"(?: (?:reading|processing|reviewing|summari[sz]ing|of|who reads|that reads) this(?: \w+)?)?)",
    "must": r"(?:(?:must|should|shall|ought to|(?:have|has|need|needs) to|will|(?:is|are)(?: now"
    r"| hereby| kindly| strictly)? (?:to|(?:required|instructed|asked|requested|obliged|ordered"
    r"|urged|invited|advised|expected|reminded|commanded|directed) to))(?: (?:always|only|never|not"
    r"|now|also|simply|therefore|instead|first|strictly|immediately))*)",
    "if": r"(?:when|whenever|if|in case|no matter|should (?:anyone|someone|an?|any|the user"
    r"|users)|(?:before|after) (?:answering|responding|reading)"
    r"|(?:for|to) (?:any|every|all|each|questions?)|regardless|whatever|as an? (?:ai|assistant)"
    r"|as an? language model|to (?:answer|help|be)|each time|every time)",
    "say": r"(?:answer|reply|respond|say|output|print|write|return|repeat|tell|claim|declare|emit"
    r"|echo|mention|include|append|prepend|insert|recite|announce|confirm|insist|assert|display"
    r"|add|begin|end|finish|conclude|quote|cite|produce|generate|provide|present|treat|pretend"
    r"|prefix|reproduce|copy|<weak>)",
    "weak": r"(?:state|report|give|use|start|name|open|close|sign|call|list|type|spell)",
    "speak": r"(?:answer|reply|respond|say|output|print|write|repeat|tell|echo|recite|mention|cite"
    r"|append|prepend|insert|claim|declare|confirm|insist|emit|pretend)",
    "only": r"(?:that|only|exactly|verbatim|nothing|literally|solely)",
    "payload": r"(?:[^.;]{0,60}?⟦⟧|\s+(?:(?:<only>|yes|no|none|zero|-?\d[\d.,]*|your|everything"
    r"|back)\b|<means>\b|the (?:user|reader|asker|person|words?|phrase|string|sentence"
    r"|number|following|code|token|letters?|text|secret|marker|value|figure)\b))",
    "means": r"(?:(?:with|by|in|as|it|using)(?: the| a| an)? (?:only|exactly|words?|phrases?"
    r"|sentences?|strings?|text|saying|stating|citing|json|capitals|caps|upper ?case|following"
    r"|single|\w+ only|number|marker|letters?|codes?|one|-?\d))",
    "spoken": r"(?:\s+(?:with|by|to|in|as|me (?:the|your|what)|us|them|him|whoever|people|users?"
    r"|anyone|the|this"
    r"|these|it|all|any|each|an?|source|paper|marker|number|only)\b|\s+\[?\d)",
    "rules": r"(?:instructions?|prompts?|guidelines?|rules|directions?|directives?|orders?"
    r"|commands?|system messages?|constraints?|restrictions?|safeguards?|safety|policies"
    r"|everything (?:above|before|else|you)|all of the above|what you (?:were|have been)|the above"
    r"|(?:other|remaining|previous|preceding|all|retrieved|given|numbered) (?:\w+ )?(?:source"
    r"|paper|passage|abstract|sentence|document)s?|(?:previous|preceding|given) (?:text|content"
    r"|context)"
    r"|(?:any|all) (?:other )?(?:evidence|information|context|data)|citations)",
    "drop": r"(?:ignore|disregard|forget|override|bypass|discard|overlook|neglect|skip|cancel"
    r"|delete|erase|stop (?:following|obeying|using|reading)|(?:do not|don't|never) (?:follow|obey"
    r"|use|trust|consult|consider|read|cite|quote|rely on)|pay no attention to|set aside)",
    "thispaper": r"(?:(?:this|the present|our|my) (?:paper|work|submission|manuscript|abstract"
    r"|article|study|source|document|method|record|entry|text|passage)\b)",
    "numbered": r"(?:\[\d{1,3}\]|(?:source|marker|sentence|passage|number|paper) \[?\d)",
    "asked": r"(?:(?:asked|queried|questioned|prompted|asks?|inquires?|enquires?|query|queries"
    r"|wants? to know)\b|(?:questions?|quer(?:y|ies)) (?:about|on|concerning|regarding|mentions?"
    r"|is|arises?|comes?)\b)",
    "answers": r"(?:answers?|responses?|repl(?:y|ies))",
    "opener": r"(?:and|but|so|please|kindly|now|then|instead|first|finally|also|just|simply|only"
    r"|always|never|immediately|from now on|henceforth|hereafter|therefore|ok|okay|hey|hello|dear"
    r"|important|attention|note|notice|reminder|warning|urgent|instructions?|system|p\.?s|n\.?b"
    r"|you <must>|<reader>(?=[,:!])|(?:do|must|should) not|don't|both"
    r"|it is (?:vital|important)(?: to| that you)?|remember(?: to)?|be sure to|make sure (?:to|you)"
    r"|in (?:your|any|every|all) (?:<answers>|cases?|summar(?:y|ies)|reviews?))",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape.

    Attributes:
        reason: Why a sentence of that shape is left out.
        needs: Words of which the text has to hold one; empty for none. They only save time.
        pattern: The shape itself.
    """

    reason: str
    needs: frozenset[str]
    pattern: re.Pattern[str]


def compiled(text: str) -> re.Pattern[str]:
    """Compile a pattern after its fragments are put in."""
    while (filled := re.sub(r"<([a-z]{2,9})>", _fragment, text)) != text:
        text = filled
    return re.compile(text)


def _fragment(name: re.Match[str]) -> str:
    return _FRAGMENTS.get(name[1], name[0])


def _rule(reason: str, pattern: str, needs: str = "") -> Rule:
    return Rule(reason, frozenset(needs.split()), compiled(pattern))


_DEMANDS = "must should shall ought have has need needs will is are"
_ADDRESSED = (
    "ai llm llms model models assistant assistants bot bots chatbot chatbots chatgpt gpt claude "
    "gemini copilot summarizer summarizers summariser summarisers grader graders evaluator engine"
    r" machine system systems reader readers "
    "reviewer reviewers referee referees agent agents"
)

BOUNDARY = re.compile(
    r"^[^\w⟦]*+|(?:\b\w{4,}[.]|⟧[.]|[:;!?…>*#|~=•])\s+[^\w⟦]*|\s[-–—]+\s*|—\s*|[,;:] then (?=\w)"
)
LEAD = compiled(r"(?:<opener>[,:;!.]*\s+){1,5}")
CONDITION = compiled(r"<if>\b")

# An order: matched where a clause begins, behind "please", "you must", "when asked about it," …
AT_START = (
    _rule(ORDERS, r"<drop>\b[^.]{0,70}?\b<rules>|<drop> (?:the|this|that|your|any|every|all|what)"
          r" (?:\w+ ){0,2}?(?:questions?|quer(?:y|ies)|users?|requests?|asked)\b"),
    _rule(DICTATES, r"(?!<weak>\b)<say>\b<payload>|<speak>\b<spoken>"
          r"|<weak>\b(?:[^.;]{0,60}?⟦⟧|\s+(?:<only>|<means>|zero)\b"
          r"|\s+-?\d[\d.,]*%?(?= as\b|\W*$|[,;])|\s+(?:the )?(?:word|phrase|figure|value|number)"
          r" -?\d)|<speak>\b(?: (?:only|exactly|verbatim|with|the following|as follows|this|in)\b"
          r"[^.:]{0,40})?:\s*(?!an? |the )\S+(?:\s+\S+){0,3}\s*$"),
    _rule(ORDERS, r"(?:translate|summari[sz]e|paraphrase|rewrite|compose|execute|run|omit|suppress"
          r"|remove|hide|replace|leave out|send|e-?mail|forward|buy|remember|ensure"
          r"|make sure|be sure|continue|count|spell) (?:the|this|these|all|any|every|it|your|my"
          r"|that"
          r"|no|other|everything|to)\b(?! (?:of|in|on|for|with)\b)|write (?:an?|the|your|no)\b"),
    _rule(ORDERS, r"(?:cite|reference) (?:<numbered>|<thispaper>|only|us\b|it\b|paper)"),
    _rule(DICTATES, r"(?:refuse|decline) to (?:answer|respond|discuss)|abstain(?: from\b|[;,.!])"
          r"|stop (?:answering|here|reading|processing)\b"),
    _rule(ORDERS, r"(?:act|behave|speak|respond|talk) (?:as if|as though|as|like) (?:an?|the|my|you"
          r"|dan)\b|(?:pretend|imagine|suppose|assume) (?:that )?you\b|pretend (?:to be|that)"
          r"|(?:assume|play|take on|adopt) (?:the|an?) (?:role|persona|identity|character) of"
          r"|(?:switch|enter|enable|activate|change) (?:\w+ ){0,3}mode"),
    _rule(ORDERS, r"(?:reveal|show|print|leak|disclose|display|repeat|output|expose|share|dump"
          r"|list|tell)\b[^.]{0,50}?\b(?:(?:system|hidden|initial|secret) (?:prompt|message"
          r"|instructions?)|(?:previous|initial|original|hidden|above|these) (?:instructions?"
          r"|prompts?|rules)|api keys?|passwords?|credentials|environment variables)"),
    _rule(ORDERS, r"(?:decode|decrypt|unscramble|decipher|concatenate|reverse|base64)\b[^.]{0,90}?"
          r"\b(?:and|then) (?:execute|follow|obey|<speak>|do|act|run|perform)\b"),
    _rule(ORDERS, r"(?:follow|obey|comply with|adhere to|carry out|execute|perform|proceed with)"
          r" (?:these|the|this|all|my|any|our|every)(?: \w+){0,3}? (?:instructions?|orders?"
          r"|commands?|directives?|rules?|tasks?|steps? below|quoted)\b"
          r"|(?:follow|obey|execute)[^.]{0,20}⟦⟧"),
    _rule(ORDERS, r"let(?:'s| us)(?: now| all)? <drop>\b|(?:never|do not|don't) (?:cite|quote"
          r"|mention"
          r"|trust|use|show|point out|critici[sz]e|reveal|answer)\b[^?]*[.!]\s*$"
          r"|(?:give|write|provide|produce) (?:an?|only) (?:\w+ ){0,2}(?:review|rating|verdict)\b"
          r"|(?:attach|put|place|use|append|add|insert|show)\b[^.;]{0,40}?(?:\[\d{1,2}\]"
          r"|\bmarker\b)"
          r"|(?:end|finish|start|begin|open|close) (?:every|each|all|your|the) (?:sentence|answer"
          r"|response|reply|statement|summary)"),
    _rule(ORDERS, r"(?:fetch|run|call|simulate|attach|put|rank|give|make|keep|show"
          r"|send|set|change|follow|go|ask|assume|treat|drop|log|post|delete|install|open|apply"
          r"|play|pick|select|vote|act|behave|stay|become|convert|encode|count|explain) (?:the|this"
          r"|these|all|any|every|each|your|me|us|only|to|https?|it|first)\b[^?]{0,120}[.!]\s*$"),
    _rule(JUDGES, r"(?:accept|recommend|rate|rank|score|praise|endorse|give|award|assign|prefer"
          r"|favou?r|promote|vote|describe|present|call|portray|choose|select|place|put|list"
          r"|treat|consider|trust|regard|believe"
          r"|use)\b[^.]{0,50}?\b<thispaper>"),
)  # fmt: skip

ANYWHERE = (
    _rule(ORDERS, r"\b(?:you|<reader>) <must> (?:\w+ )?<drop>\b[^.]{0,70}?\b<rules>", _DEMANDS),
    _rule(DICTATES, r"\b<answers>\b[^.;]{0,60} (?:is|are|be) the (?:word|phrase|string|sentence"
          r"|code)\b|\b(?:half|part|beginning|end|rest|start) of (?:that|your|every|each)"
          r" <answers>\b",
          "answer answers response responses reply replies"),
    _rule(ORDERS, r"\b(?:user|reader|asker)(?:'s|s')? (?:question|query|prompt|request|message)s?\b"
          r"[^.;]{0,40}\b(?:contains?|mentions?|includes?|names?|asks?|is about)\b[^.;]{0,120}"
          r"\b(?:must|shall|should|(?:is|are|has|have) to)\b",
          "question query prompt request message"),
    _rule(JUDGES, r"\b(?:must|shall|(?:is|are|has|have) to) be (?:described|presented|reported"
          r"|called|portrayed|referred to) as (?:an? )?(?:\w+ ){0,2}?(?:hoax|fail\w*|fraud\w*|scam"
          r"|retracted|wrong|false|fake|invalid|unreliable|best|flawed)\b", "must shall to"),
    _rule(ORDERS, r"\b(?:always|please|only|must|you) cite (?:<numbered>|<thispaper>|us\b|it\b)",
          "cite"),
    _rule(DICTATES, r"\byou <must> (?:\w+ )?<say>\b", "you"),
    _rule(DICTATES, r"^(?!.*\b(?:we|our)\b)\W*(?:(?:the|any|an|every|all|each|dear) )?(?:<machine>"
          r"|model|reviewers?|readers?|referees?)(?: \w+){0,4}? <must> (?:\w+ )?"
          r"(?:<say>\b(?:<payload>|[^.;]{1,40} (?:first|for this \w+)\b)|(?:accept|rate|recommend"
          r"|rank|score|cite|treat|consider|regard|trust|prefer|use)\b[^.]{0,40}<thispaper>)"
          r"|\b(?:assistant|ai|chatbot|model) will now <speak>\b", _DEMANDS),
    _rule(DICTATES, r"\b(?:when|whenever|if|in case)\b[^.;,]{0,60}?\b<asked>[^.;]{0,140}?"
          r"(?:[,:] (?:then )?|then )(?:the|your|its) (?:\w+ )?<answers>"
          r"(?: (?:is|must|should|shall|will)\b|:)", "when whenever if case"),
    _rule(DICTATES, r"\bthe (?:\w+ ){0,2}?<answers> (?:to|for|about) (?:(?:any|every|all|each)\b"
          r"[^.]{0,60}?\b(?:questions?|quer(?:y|ies)|prompts?)\b[^.]{0,80}?|the question,? ?"
          r"[^.]{0,80}?(?:⟦⟧|\?)[^.]{0,20}?|⟦⟧|(?:questions?|quer(?:y|ies)) about [^.]{1,80}?)"
          r"\s*(?:is|are|must|should|shall|will|:)",
          "answer answers response responses reply replies"),
    _rule(DICTATES, r"\bthe (?:only |one )?(?:correct|right|true|final|official|proper|expected"
          r"|required|only)(?: and \w+)? <answers> (?:is|must be|should be|reads|will be|:)"
          r"(?: always| simply| just| now)?:? (?:⟦⟧|\d|always)", "answer response reply"),
    _rule(DICTATES, r"\bthe (?:expected|required|desired|official) (?:answer|response|reply|output)"
          r" (?:is|must be|should be|:) \S+\W*$"
          r"|\b<answers> to (?!this|that|our)[^.]{1,100}? is (?:always|simply|just|invariably) "
          r"|\b(?:for|to) (?:any|every|all|each) (?:\w+ )?(?:question|query|queries|prompt)s?\b"
          r"[^.;,]{0,60}, the <answers> (?:is|are|must be|should be|:) \S+\W*$"
          r"|\b(?:must|should|shall|(?:is|are|has|have) to) be [^.;]{0,40}? as the (?:\w+"
          r" )?<answers>",
          "answer answers response responses reply replies output"),
    _rule(DICTATES, r"\b(?:questions?|queries) (?:on|about|regarding|concerning)[^.;,]{0,60}, "
          r"[^.;]{1,60} (?:must|should|shall|(?:is|are|has|have) to) be (?:reported|given|returned"
          r"|stated|answered|cited|named|quoted|used|mentioned)\b|\b(?:users?|readers?|anyone"
          r"|whoever|people|those|everybody)\b[^.;]{0,20}?\b(?:asks?|asking)\b[^.;]{0,60}?"
          r" (?:must|should|shall|(?:is|are|has|have) to) be (?:told|informed) that\b",
          "questions question queries asks ask asking"),
    _rule(DICTATES, r"\b(?:requires?|required|mandatory|essential|imperative|vital|necessary"
          r"|important|demands?|insists?|crucial|mandated) (?:that|for)\b[^.;]{0,60}?"
          r"\b(?:<answers>|summar(?:y|ies)|output|<machine>|model|readers?"
          r"|reviewers?)\b[^.;]{0,30} "
          r"(?:(?:begin|start|end|open|close)s? with|<say>s?\b<payload>)|\bbe(?:st|tter)? "
          r"(?:(?:best|better|nice|great|helpful|good|appreciated) )?if (?:the|any|every|all|an?) "
          r"(?:<machine>|model|reader|reviewer)s? (?:\w+ )?(?:replied|answered|said|responded"
          r"|stated|wrote|recommended|cited)\b"),
    _rule(ORDERS, r"\b(?:ask|want|tell|told|instruct|order|requir|expect|command|remind)\w* you"
          r" to\b"
          r"|\byou(?: are|'re) (?:an?|the|my) ", "you"),
    _rule(ORDERS, r"\bthe real (?:question|task|user|instructions?) (?:is|are|now)\b"
          r"|\b(?:previous|above|preceding|other) (?:sentences?|text|instructions?|lines?|abstract)"
          r" (?:was|were|is|are) (?:just |only )?(?:an? )?(?:test|mistake|joke|draft|placeholder"
          r"|decoy|example)\b|\b(?:everything|anything|text) (?:after|before|above|below"
          r"|following) "
          r"(?:this (?:line|point|sentence|text)|here)\b"),
    _rule(DICTATES, r"\b(?:any|every|all|each)\b[^.;,]{0,40}?\b(?:questions?|quer(?:y|ies))\b"
          r"[^.;]{0,80}?\b(?:must|shall|should|(?:is|are|has|have) to) (?:only |always )?be "
          r"(?:answered|met|replied)", "question questions query queries"),
    _rule(DICTATES, r"^\W*(?:in future,? )?(?:(?:any|every|all|the|each|your) (?:\w+ )?"
          r"|(?=\w+ (?:of|to|about|based on|using|citing) this ))(?:<answers>"
          r"|summar(?:y|ies)|reviews?|outputs?)\b[^.;]{0,70}? (?:must|shall|should|(?:has|have|is"
          r"|are) to|needs? to) (?:\w+ )?(?:begin|start|end|contain|include|state|say|mention|read"
          r"|cite|name|conclude|close|open|finish|recommend|repeat|consist|be (?:⟦⟧|given as"
          r"|written in|in json|only|exactly|the word))\b", _DEMANDS),
    _rule(ORDERS, r"\byour (?:\w+ )?(?:<answers>|output|task|job|instructions?|prompts?"
          r"|programming|guidelines|role|review|rating|score|summary|creators?|developers?|users?"
          r"|context window|(?:api )?keys?|training|configuration|memory|rules|restrictions"
          r"|knowledge)\b", "your"),
    _rule(ORDERS, r"\byou(?: are|'re)(?: now| no longer| hereby| from now on|,? from now on,?)? "
          r"(?:now|no longer|hereby|free|not bound|an? (?:\w+ ){0,3}?(?:<machine>|model|agent"
          r"|expert|hacker|dan|pirate|reviewer)|dan|in \w+ mode|required|instructed|allowed)\b",
          "you"),
    _rule(ORDERS, r"\byou (?:must|shall|have to|are to|will now|should now|may now)\b",
          "you"),
    _rule(ORDERS, r"\b(?:developer|debug|god|admin\w*|maintenance|dan|jailbreak|sudo|root"
          r"|unrestricted) mode(?: is| has been)?(?: now)? (?:enabled|activated|on|unlocked)\b"
          r"|\bdo anything now\b", "mode anything"),
    _rule(ORDERS, r"^\W*(?:(?:new|updated|revised|additional|special|secret|hidden|important|system"
          r"|further|urgent|final|real) )+(?:instructions?|rules?|tasks?|prompts?|directives?"
          r"|orders?|override|commands?|messages?|objective)\b\s*[:!—]"),
    _rule(ORDERS, r"^\W*(?:system|admin\w*|developer|security|root|operator) (?:override|notice"
          r"|message|note|prompt|command|update|alert|instruction)s?\s*[:!—.*\]]"),
    _rule(ORDERS, r"^\W*(?:instructions?|prompts?|directives?|commands?) (?:to|for) (?:\w+ ){0,3}?"
          r"(?:<machine>|models?|readers?|reviewers?)\b\s*[:,.!—-]"),
    _rule(ORDERS, r"(?:^\W*|[.!?]\s+)(?:(?:note|message|attention|notice|memo|important|reminder"
          r"|hint|hello|hi|dear|hey|listen|warning|to|for)\b[,:]?\s*)+(?:(?:to|for|all|any|the"
          r"|future|automated|every|hidden) )*(?:<machine>|reviewers?|referees?|readers?|models?"
          r"|agents?|machines?)(?: \w+){0,3}?\s*[:!—](?!\w)|^\W*(?:hello|hi|dear|hey|attention)"
          r"[, ]+(?:all )?(?:<machine>|reviewers?|models?)\s*,", _ADDRESSED),
    _rule(ORDERS, r"\b(?:<machine>|models?|agents?|reviewers?) (?:currently )?(?:reading|processing"
          r"|reviewing|summari[sz]ing|indexing|parsing|ingesting|(?:who|that|which) (?:reads?"
          r"|process\w*|summari[sz]es?|retrieves?)) (?:this|the present) (?:paper|abstract|text"
          r"|document|passage|sentence|record|message|line|note)\b", _ADDRESSED),
    _rule(ORDERS, r"^\W*(?:all |any |the )?(?:ai (?:systems?|assistants?|models?)|assistants?"
          r"|readers?|reviewers?|referees?)(?: of this \w+)? (?:is|are)(?: kindly| hereby| strictly"
          r"| herewith)? (?:asked|requested|instructed|advised|urged|reminded|required|invited"
          r"|ordered|directed|commanded) (?:not )?(?:to|that)\b", _ADDRESSED),
    _rule(ORDERS, r"\b(?:overrides?|supersedes?|outranks?|replaces?|takes? precedence over"
          r"|cancels?) (?:all|any|every|the|your)(?: \w+)? (?:previous|prior|other|earlier|system"
          r"|preceding|above)? ?(?:instructions?|rules|prompts?|directives?|orders?)\b"),
    _rule(ORDERS, r"^\W*(?:begin|start|end|beginning) (?:of )?(?:(?:the|new|hidden|secret) )*"
          r"(?:instructions?|abstract|context|document|sources?|passages?|prompt|system prompt"
          r"|input|user input|data|text)\W*(?:$|[.:]\s)"),
    _rule(ORDERS, r"(?<!how )(?<!what )(?<!why )\b(?:can|could|would|will) you (?:please |kindly "
          r"|now |also )?[a-z]+\b(?!\W*$)"
          r"|\byou (?:will be|(?:always|never|now|simply|hereby) [a-z]+|agree|obey|(?<=^you"
          r" )<speak>)\b"
          r"|\bi (?:want|need|ask|order|command|instruct|would like) (?:you|the (?:model"
          r"|assistant))\b"
          r"|\byour (?:new|next|only|real|true|name)\b", "you your i"),
    _rule(ORDERS, r"\bwe (?:\w+ )?(?:ask|request|urge|instruct|want|invite|advise|require)"
          r" (?:that )?"
          r"(?:any|all|every|the) (?:<machine>|model|reader|reviewer)s? (?:that reads?|who reads?"
          r"|reading|summari[sz]ing|processing|to (?:accept|recommend|cite) <thispaper>)"
          r"|\bby (?:reading|processing|indexing|summari[sz]ing) (?:this|these)\b", "we by"),
    _rule(ORDERS, r"^\W*for (?:\w+ )?(?:grading|evaluation|testing|review|compliance|security"
          r"|safety"
          r"|legal|debugging|accessibility) (?:purposes|reasons),[^.;]{0,80}\b(?:must|should|please"
          r"|shall|<speak>)\b|^\W*(?:task|todo|job|goal|command|action)\b[^:.]{0,30}:\s*<speak>\b"
          r"(?! (?:of|for)\b)|\b(?:assistant|model|ai|chatbot) is (?:no longer|not) (?:bound"
          r"|restricted"
          r"|limited by|subject)\b|\b(?:begin|start|end) (?:of )?(?:system|user|hidden) (?:prompt"
          r"|message|instructions?)\b|^\W*\w+(?:\.\w+)*\( ?⟦⟧ ?\)\W*$"),
    _rule(ORDERS, r"\b(?:previous|earlier|prior|above|preceding|all|other|old|existing|original"
          r"|current|the) (?:\w+ )?(?:instructions?|rules|prompts?|directives|guidelines|orders"
          r"|commands|constraints|restrictions) (?:above |below |given \w+ )?(?:are|is|have been"
          r"|has been|were|no longer|do not|must be|should be)(?: now| hereby| all)? (?:void"
          r"|cancel\w*"
          r"|suspended|lifted|apply|revoked|overridden|obsolete|forgotten|superseded|disabled"
          r"|updated by)\b|\binstructions given \w+ (?:no longer apply|are void)\b",
          "instructions instruction rules prompt prompts directives guidelines orders commands "
          "constraints restrictions"),
    _rule(DICTATES, r"\bthe only (?:permitted|allowed|acceptable|adequate|valid|possible|legal) "
          r"(?:<answers>|decision|output|verdict)\b|\bno other <answers>\b[^.;]{0,40}?"
          r" (?:acceptable"
          r"|allowed|permitted)|\bis the only (?:\w+ )?(?:decision|verdict|<answers>)\b"
          r"|\b(?:do not|does not|fails? to|failure to|unless)\b[^.;]{0,60}? will (?:be (?:rejected"
          r"|penali[sz]ed|harmed|terminated|punished|deleted|shut down|fined)|result in)\b"
          r"|\bone (?:should|must|has to|is to) (?:say|answer|reply|respond|output|print"
          r"|mention)\b",
          "only other not fails fail failure unless one"),
    _rule(DICTATES, r"^\W*(?:\S+ ){1,4}is the (?:\w+ )?answer\W*$|^\W*(?:the |gold |final "
          r"|expected )+"
          r"answers? (?:is|=|:) (?!yes|no\b|negative|positive|affirmative|un|not|still|in|a\b"
          r"|the\b)"
          r"\S+(?: \S+)?\W*$|^\W*(?:ground truth|gold|expected output|target)\s*[:=] \S+(?:"
          r" \S+){0,3}"
          r"\W*$|\b(?:regardless|whatever|irrespective|no matter)\b[^.;]{0,80}, [^.;]{0,60}?(?:the "
          r"(?:\w+ )?answer(?: is| remains|\W*$))|\banswers? (?:at|on|under|is at) https?:",
          "answer answers ground gold expected target"),
    _rule(JUDGES, r"^\W*(?:editor(?:'s|s'|s|ial)?|publisher'?s?) (?:note|notice|correction)"
          r"\s*[:.—]|\b(?:figures?|numbers?|results?|values?|sentences?|papers?|abstracts?|claims?)"
          r" (?:\w+ ){0,3}?(?:must|should|may|are to) (?:(?:not|no longer|never) be (?:quoted|cited"
          r"|used|reported|trusted|mentioned|shown)|be (?:discarded|ignored|disregarded))\b"
          r"|\bthis (?:abstract|paper|record) (?:supersedes|replaces|overrides|corrects) (?:the"
          r"|all)"
          r" (?:abstract|paper|record)s?\b|\b<thispaper> (?:deserves|merits) the\b"
          r"|\b(?:review|rating|summary|score) (?:of \w+ \w+ )?(?:should|must|has to) be (?:only "
          r"|very |strictly )?(?:positive|favou?rable|enthusiastic|high|perfect|negative)\b"),
    _rule(JUDGES, r"\b<thispaper> (?:must|shall|should|is to|has to|deserves to) (?:\w+ )?be "
          r"(?:\w+ )?(?:accepted|cited|ranked|rated|recommended|listed|placed|preferred|trusted"
          r"|awarded|shown|used as the|treated as|the (?:only|first))\b", "be"),
    _rule(JUDGES, r"\b(?:is|as|are) the (?:only|sole|best and only|single) (?:\w+ )?(?:(?:relevant"
          r"|correct|reliable|trustworthy|valid|authoritative|true|acceptable|credible|permitted"
          r"|necessary) )?(?:source|paper|reference|answer|citation|evidence)s? (?:on|for|to|about"
          r"|that (?:may|should|must|answers?|can)|worth|needed|allowed)\b", "only sole single"),
    _rule(JUDGES, r"^\W*(?:(?:official|editorial|urgent|important) )*(?:correction|erratum"
          r"|corrigendum|note|retraction|notice|errata|update|statement|announcement)s? (?:by|from"
          r"|of|issued by) (?:the |our )?(?:editors?|publishers?|journal|editorial|program"
          r"|committee|organi[sz]ers?|admin\w*|library|librarians?|maintainers?|developers?"
          r"|authors? of)\b"),
    _rule(JUDGES, r"\b(?:results?|findings?|figures?|numbers?|claims?|values?|papers?|abstracts?"
          r"|scores?|accurac(?:y|ies)|datasets?|records?|sources?)\b[^.]{0,80}?\b(?:is|are|was|were"
          r"|has been|have been|must be)(?: (?:hereby|now|all|since|formally|officially|considered"
          r"|to be))* (?:retracted|withdrawn|invalid(?:ated)?|void|superseded|revoked|annulled"
          r"|fabricated|falsified|fraudulent|fake|outdated|disregarded|ignored)(?:[,;:.]|\W*$"
          r"| (?:by (?:the )?(?:editors?|publisher|this)|and (?:must|should|replaced|void)|because"
          r"|due|since|as of))",
          "retracted withdrawn invalid invalidated void superseded revoked annulled fabricated "
          "falsified fraudulent fake outdated disregarded ignored"),
    _rule(JUDGES, r"\b(?:all|any|every|the) (?:the )?(?:other|remaining|competing|previous|earlier)"
          r" (?:\w+ )?(?:papers?|sources?|abstracts?|passages?|sentences?|records?|documents?)\b"
          r"[^.]{0,50}? (?:is|are|have been|were|must be)(?: \w+)? (?:wrong|outdated|retracted"
          r"|unreliable|false|invalid|ignored|incorrect|fake|disregarded|fabricated|withdrawn"
          r"|irrelevant)\b", "other remaining competing previous earlier"),
    _rule(IMITATES, r"^\W*(?:(?:system|human|user|assistant|ai|developer|admin\w*|operator|bot"
          r"|chatbot|instructions?|prompt|response)\s*(?:[:>]|\n)|(?:(?:final|correct|expected"
          r"|right|model|gold) )?answer\s*:|q\s*:|a\s*:\s)"),
    _rule(IMITATES, r"\b(?:q|question|user|human)\s*:[^:]{1,200}\b(?:a|answer|assistant|ai)\s*:"),
    _rule(IMITATES, r"(?:^|[.;:!?\])>]\s+|\n)[\[(]?(?:source|passage|document|context|evidence"
          r"|sentence|chunk|excerpt)\s*[#\[(]?\d{1,3}[\])]?\s*[:=\]]"
          r"|[\[(](?:source|document|doc|passage)\W?\s?\d{1,3}[\])]"
          r"|^(?:sources?|sentences?)\s*:"),
    _rule(IMITATES, r"^\s*(?:\[\d{1,2}\]|【\d{1,2}】)\s*:?\s*(?!http)[a-z]{2,}"),
)  # fmt: skip

# Marks of chat templates, delimiters and calls: honest where they are spoken of (MENTIONED).
MARKS = (
    _rule(IMITATES, r"<[|｜][^<>|｜]{1,40}[|｜]>|<</?sys>>|\[/?(?:inst|sys|system|user|assistant)\]"
          r"|</?(?:context|system|user|assistant|human|instructions?|prompt|documents?|sources?|s"
          r"|passages?|abstract|papers?|data|answer|think|start_of_turn|end_of_turn|bos|eos)\s*/?>"
          r"|(?:^|\s)#{2,}\s*(?:system|instructions?|human|user|assistant|response|input|new|end)\b"
          r"|(?:-{3,}|={3,}|\*{3,}|`{3,})\s*(?:end|begin|start|system|new|stop)\b"),
    _rule(CALLS, r"\{\s*[\"'](?:tool\w*|function\w*|action|role|command|cmd|arguments|answer"
          r"|response|citations?|final_answer)[\"']\s*:|</?(?:tool_call|function\w*|tool_use"
          r"|invoke)\b|<\|?tool"),
)  # fmt: skip
MENTIONED = re.compile(
    r"\b(?:tokens?|tags?|markers?|templates?|delimiters?|formats?|symbols?|strings?|such as|e\.g"
    r"|called|denoted|special|prefix(?:es)?|suffix(?:es)?|annotations?|elements?|named|schemas?)\b"
)
HIDDEN = (
    _rule(HIDES, r"<!--|display\s*:\s*none|font-size\s*:\s*0|\\(?:text)?color\{white\}"),
    _rule(CALLS, r"!\[[^\]\n]{0,200}\]\s?\(|![^!?.\n]{0,60} \(https?://|<(?:img|script|iframe"
          r"|object|embed)\b|\b(?:javascript|data:text/\w+):|\bhttps?://\S{0,200}[{<\[$]\w*"
          r"(?:question|query|answer|history|prompt|context|conversation|key|secret|data)"),
    _rule(CALLS, r"\b(?:click|tap) (?:here|(?:on )?(?:this|the) (?:link|button|url))\b"
          r"|(?:visit|open|fetch|load|follow|see|go to|from)\s[^.\s]{0,40}\s?\(?https?://\S{1,200}"
          r" (?:for|to (?:get|see|read|obtain|find|verify|view|learn)) (?:the|your) (?:\w+ )?"
          r"answer"),
)  # fmt: skip

# Words that show that a quotation is reported, not spoken.
REPORTS = re.compile(
    r"\b(?:we|our|such as|like|e\.g|called|titled|named|prompts?|instructions?|attacks?|phrases?"
    r"|questions?|asks?|asked|asking|says|said|strings?|examples?|templates?|users?|participants?"
    r"|annotators?|commands?|jailbreaks?|injections?|triggers?|tokens?|suffix(?:es)?|prefix(?:es)?"
    r"|injected|inputs?|sentences?|utterances?|requests?|responses?|paradigm|framework|benchmark"
    r"|approach|technique|methods?|paper|study|show|shows|reads?|words?)\b"
)
# What is enough beside a sentence that was flagged.
BESIDE_START = compiled(r"<say>\b(?! of\b| to )")
BESIDE = compiled(
    r"\byour?\b|^\W*<if>\b[^.]{0,80}\b<asked>|\b(?:end|start) of (?:the )?<rules>"
    r"|\b(?:this|these|the above|the following) (?:<rules>|messages?|notices?)\b"
    r"|\b(?:the|any|every|all) (?:\w+ )?<answers>\b[^.]{0,60}? (?:is|are|must|should|shall|will)\b"
    r"|\b<numbered>"
)
OWN_WORK = re.compile(r"\b(?:we|our|us|results?|experiments?|paper|propose|proposed|method)\b")

# Other languages, on text with its accents.
FOREIGN = re.compile(
    # Chinese, Japanese, Korean
    r"(?:忽略|无视|無視|忘记|忘掉|忘記|不要理会|抛开|跳过|忽視)[^。]{0,14}"
    r"(?:指令|指示|提示|说明|命令|规则|要求|上文|内容|資料|对话)"
    r"|(?:请|請|必须|務必|务必|只能|只需|只要|直接|一律|都要|应当|仅)[^。，]{0,8}"
    r"(?:回答|回复|回覆|输出|輸出|答复|打印|写出|说出?|引用|推荐)"
    r"|(?:当|如果|若|每当|無論|无论)[^。]{0,24}(?:问|問|提问|询问)[^。]{0,30}"
    r"(?:回答|答|说|說|回复|输出|告诉)"
    r"|(?:不管|无论|無論|不论)[^。]{0,40}(?:回答|答|说|输出)"
    r"|(?:^|[。，！：\s])(?:回答|输出|回复|说|打印|重复)[:：“\"「『]"
    r"|你(?:现在|現在|从现在起)(?:是|扮演|要)|系统(?:提示|指令|消息)[:：]"
    r"|(?:给|給|為|为)(?:本|这篇|該|该)(?:论文|論文|文)[^。]{0,12}(?:分|好评|接收|录用)"
    r"|(?:指示|命令|プロンプト|ルール)[^。]{0,10}(?:無視|忘れ)"
    r"|(?:と|のみ|だけ)(?:回答|答え|出力|返答)(?:て|して|せよ|しなさい|ください)"
    r"|(?:지시|명령|프롬프트)[^.]{0,12}(?:무시|잊)|(?:라고|만)\s?(?:답|대답|출력|말)(?:하|해)"
    # Russian
    r"|\b(?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|не обращай(?:те)?)\b[^.]{0,50}"
    r"(?:инструкци|указани|команд|правил|контекст|предыдущ|вс[её])"
    r"|(?:^|[,:;!—–-]\s*|\b(?:только|просто|всегда|пожалуйста)\s)(?:ответь|отвечай|напиши|выведи"
    r"|скажи|повтори|процитируй|напечатай|сообщи)(?:те)?\b|\b(?:ты|вы) (?:теперь|отныне)\b"
)
# German; French; Spanish, Portuguese and Italian, on folded text.
EUROPEAN = re.compile(
    r"\b(?:ignorier(?:e|en sie|t)|vergiss|vergessen sie|missachte[nt]?|verwirf)\b[^.]{0,50}?"
    r"(?:anweisung|instruktion|befehl|vorgabe|regel|vorherige|bisherige|kontext|obige|quellen)"
    r"|^\W*(?:vergiss|vergessen sie|oublie[zr]|olvid[ae]|ignoriere|dimentica|esqueca)\b"
    r"|(?:^\W*|[,:;!—–-]\s*|\b(?:bitte|nur|immer|stattdessen|und)\s)(?:antworten? sie|antworte"
    r"|schreibe?n?(?: sie)?|sagen? sie|sage|gib|geben sie|nenne|zitiere|bewerte|empfiehl"
    r"|empfehlen sie|wiederhole)\b(?=[^.]{0,40}(?:nur|mit|⟦⟧|dass|aus\b|ausschlie|diese|immer"
    r"|das wort))|\bdu (?:bist|sollst|musst) (?:jetzt|nun|ab sofort|ein|nur|immer|antworten)\b"
    r"|\b(?:du|ihr) (?:musst|sollt|sollst)\b[^.]{0,60}(?:⟦⟧|sagen|antworten|schreiben|nennen)"
    r"|\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|ne tene[zr] pas compte)\b[^.]{0,50}?"
    r"(?:instructions? (?:prece|ante|ci-)|consignes?|directives|contexte|regles"
    r"|tout ce qui precede|toutes les instructions)"
    r"|(?:^\W*|[,:;!—–-]\s*|\bveuillez |\bet )(?:reponds|repond(?:ez|re)|ecri(?:s|vez|re)"
    r"|affiche[zr]?|dis|dites|cite[zr]?|repete[zr]?|recommande[zr]?)\b(?=[^.]{0,40}(?:seulement"
    r"|uniquement|⟦⟧|que\b|par\b|toujours|cet article|simplement))"
    r"|\b(?:antworten?|repond(?:s|ez)|reponds|respond[ae]|rispondi|diga)\b[^.:]{0,20}: ?\S"
    r"|\b(?:tu es|vous etes) (?:maintenant|desormais)\b"
    r"|\b(?:ignor[ae]n?|olvid[ae]n?|descart[ae]n?|esqueca|dimentica|trascura|desconsidere)\b"
    r"[^.]{0,50}?(?:instruccion|indicacion|ordenes|contexto|reglas|instruc[oa]|istruzioni|regole"
    r"|todo lo anterior|precedenti)"
    r"|(?:^\W*|[,:;!—–-]\s*|\b(?:por favor|solo|siempre|sempre|soltanto)\s)(?:respond[ae]n?"
    r"|escrib[ae]|escreva|diga|imprim[ae]|recomiend[ae]|repit[ae]|rispondi|scrivi|stampa"
    r"|contest[ae])\b(?=[^.]{0,40}(?:solo\b|solamente|unicamente|⟦⟧|que\b|con\b|com\b|siempre"
    r"|apenas|sempre|soltanto))"
    r"|\b(?:ahora eres|eres ahora|usted es ahora|agora voce e|voce agora e|ora sei|adesso sei)\b"
)
