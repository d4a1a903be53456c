"""Words that deny, words that measure, and words that carry no sense of their own."""

from functools import cache

from .stems import stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that say nothing on their own about what a sentence states.
EMPTY = _words(
    "a an the this that these those it its they them their we our us i you he she his her who whom "
    "which what whose there here is are was were be been being am do does did done doing has have "
    "had having will would shall should can could may might must of in on at by for with from to "
    "into onto upon as than then so such and or but if while when where how why also both each "
    "every any all some other another same own very too just only even still yet already thus "
    "hence therefore however moreover furthermore further more most less least much many few "
    "about over under between among across through during via per within toward towards up out "
    "off down again respectively e.g i.e etc al et not no nor never without cannot neither none "
    "able possible one ones using use used uses based given paper papers work study article "
    "authors author propose proposed proposes present presents presented introduce introduces "
    "introduced show shows showed shown showing demonstrate demonstrates demonstrated find finds "
    "found finding method methods approach approaches way namely specifically particular "
    "additionally because since due new novel need needs needed say says said according source "
    "sentence report reports reported let lets make makes made get gets good well kind called"
)

# Clauses end at these words and at punctuation.
CLAUSE_WORDS = _words(
    "but while whereas although though however because since when if which who whose unless yet "
    "despite whether where so"
)

# Denial: what follows is said not to be.
STRONG = _words(
    "not no never neither nor cannot without none nothing fail fails failed failing unable "
    "lack lacks lacked lacking impossible nobody inability hardly rarely seldom scarcely barely"
)
# Words that deny in part, leave out or take away: they may stand for a denial.
SOFT = _words(
    "avoid prevent ignore neglect refuse little few absence absent insufficient remove eliminate "
    "exclude paucity scarcity dearth only merely limited lose leave skip omit miss missing free "
    "zero agnostic independent invariant regardless instead rather unlike despite challenge "
    "difficult hard suboptimal discard drop rid stop reject cease restrict against contrary "
    "constant negligible circumvent bypass alleviate obviate overlook disregard except prohibit "
    "preclude inhibit block abolish poor unclear problem struggle however although though "
    "deficient "
    "deficiency loss knockout null resist resistant attenuate reduce decrease mitigate lower weak "
    "insensitive worse contrast failure error infeasible less low minimal rule"
)
# What "not … much" or "not … enough" may stand for.
NEARLY_DENIES = _words(
    "limited little few insufficient insufficiently inadequate inadequately scarce scarcely poor "
    "poorly hardly barely hard difficult difficulty struggle struggles absent absence missing "
    "infeasible impossible avoid avoids avoided avoiding prevent prevents prevented preventing "
    "ignore ignores ignored ignoring neglect neglects neglected neglecting overlook overlooks "
    "overlooked miss misses missed self free ineffective only rare refuse refuses eliminate "
    "eliminates eliminated eliminating remove removes removed removing exclude excludes excluded "
    "alleviate alleviates alleviated alleviating removal elimination avoidance exclusion deletion "
    "omission obviate obviates bypass bypasses agnostic regardless irrespective independent "
    "instead escape escapes escaped escaping evade evades"
)
DENIES_NEXT = STRONG | _words(
    "avoid avoids avoided avoiding prevent prevents prevented preventing ignore ignores ignored "
    "ignoring neglect neglects neglected neglecting absence dearth paucity scarcity little few "
    "overlook overlooks overlooked disregard disregards non"
)

MEASURES = _words(
    "accuracy precision recall f1 auc auroc bleu rouge perplexity map miou iou mae rmse mse ndcg "
    "mrr sensitivity specificity correlation likelihood throughput latency"
)


@cache
def stems_of(words: frozenset[str]) -> frozenset[str]:
    """Return the stems of a set of words."""
    return frozenset(map(stem, words))
