"""English function words that say nothing about a paper's subject: closed classes, lower case."""

STOPWORDS = frozenset(
    # articles, determiners, quantity words
    "a an the this that these those some any each every either neither another other others such "
    "no all both many much more most few several same own "
    # pronouns
    "i me my mine myself we us our ours ourselves you your yours yourself he him his himself she "
    "her hers herself it its itself they them their theirs themselves one ones someone something "
    "anyone anything nothing everything "
    # question words
    "what which who whom whose when where why how whether "
    # auxiliaries
    "am is are was were be been being do does did doing done have has had having can could may "
    "might must shall should will would cannot "
    # prepositions
    "about above across after against along among around as at before behind below between beyond "
    "by despite down during except for from in inside into like near of off on onto out over per "
    "since than through throughout to toward towards under until up upon via with within without "
    # conjunctions and connecting adverbs
    "and or but nor so if because although though while whereas unless then thus hence therefore "
    "however also too yet still only just even rather quite very there here not".split()  # noqa: SIM905  # as lines the classes can be read
)
