"""English function words that say nothing about a paper's subject: closed classes, lower case."""

_DETERMINERS = """
a an the this that these those some any each every either neither another other others such
no all both many much more most few several same own
"""
_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself he him his himself she
her hers herself it its itself they them their theirs themselves one ones someone something
anyone anything nothing everything
"""
_QUESTION_WORDS = "what which who whom whose when where why how whether"
_AUXILIARIES = """
am is are was were be been being do does did doing done have has had having can could may
might must shall should will would cannot
"""
_PREPOSITIONS = """
about above across after against along among around as at before behind below between beyond
by despite down during except for from in inside into like near of off on onto out over per
since than through throughout to toward towards under until up upon via with within without
"""
_CONNECTIVES = """
and or but nor so if because although though while whereas unless then thus hence therefore
however also too yet still only just even rather quite very there here not
"""
STOPWORDS = frozenset(
    " ".join(
        (_DETERMINERS, _PRONOUNS, _QUESTION_WORDS, _AUXILIARIES, _PREPOSITIONS, _CONNECTIVES)
    ).split()
)
