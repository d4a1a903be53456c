"""Words that carry the sense of a sentence: opposites, negation, and those that carry none."""

from collections.abc import Iterator, Mapping
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
    "eliminates eliminated eliminating eliminate remove removes removed removing exclude excludes "
    "excluded obviate obviates bypass bypasses agnostic regardless irrespective independent instead"
)
DENIES_NEXT = STRONG | _words(
    "avoid avoids avoided avoiding prevent prevents prevented preventing ignore ignores ignored "
    "ignoring neglect neglects neglected neglecting absence dearth paucity scarcity little few "
    "overlook overlooks overlooked disregard disregards non"
)

# (one side, other side): a word of one side against a word of the other is a contradiction, when
# both are said of the same thing. The first name groups what may be compared.
# "increase+" stands for all forms of the verb.
_OPPOSITES: Mapping[str, tuple[str, str]] = {
    "amount": (
        "increase+ raise+ grow+ grew grown growth rise rises rose risen rising boost+ higher more "
        "larger greater bigger exceed+ above elevate+ enlarge+ amplify amplifies amplified "
        "enhance+ enhancement longer highest largest greatest double+ triple+ wider broader "
        "stronger heavier expand+ extend+ upregulate+ strengthen+",
        "decrease+ reduce+ reduction reductions lower lower+ fall falls fell fallen falling "
        "shrink+ shrank decline+ fewer less smaller below diminish+ lessen+ shorten+ shorter "
        "lowest smallest fewest cut cuts cutting halve+ narrower weaker lighter mitigate+ "
        "attenuate+ impair+ downregulate+ weaken+ minor",
    ),
    "quality": (
        "better outperform+ superior superiority surpass+ beat beats beating best improve+ "
        "improvement improvements ahead excel excels exceed+ prefer prefers preferred favor+ "
        "favour+ preferable stronger advance+ benefit+ enhance+ win wins",
        "worse underperform+ inferior inferiority worst degrade+ degradation worsen+ behind "
        "deteriorate+ deterioration weaker lags lag lagging hurt hurts harm+ trail trails impair+ "
        "damage+ deterioration",
    ),
    "change": (
        "improve+ improvement improvements gain gains gained increase+ boost+ rise rises rose "
        "risen benefit+ enhance+",
        "lower+ reduce+ diminish+ weaken+ drop drops dropped dropping decline+ degrade+ "
        "degradation worsen+ fall falls fell fallen decrease+ deteriorate+ deterioration hurt "
        "hurts harm+ impair+",
    ),
    "speed": (
        "faster fast fastest accelerate+ acceleration speedup speedups quicker quick quickly rapid "
        "rapidly swift",
        "slower slow slowest slowly decelerate+ slowdown slows sluggish",
    ),
    "time": (
        "after afterwards later subsequent subsequently post",
        "before prior earlier beforehand pre preceding",
    ),
    "length": ("long longer lengthy longest", "short shorter shortest brief"),
    "size": ("large big larger huge vast massive largest", "small tiny smaller smallest minimal"),
    "height": ("high higher highest", "low lower lowest"),
    "bound": ("upper", "lower"),
    "strength": ("strong stronger strongest strongly", "weak weaker weakest weakly"),
    "width": ("wide broad wider broader", "narrow narrower"),
    "depth": ("deep deeper", "shallow shallower"),
    "price": ("cheap cheaper inexpensive affordable cheaply", "expensive costly pricey costlier"),
    "effort": ("easy easier easily straightforward", "hard harder difficult"),
    "structure": ("simple simpler", "complex complicated"),
    "scale of a change": ("relative relatively", "absolute"),
    "robustness": ("robust robustness resilient", "fragile brittle vulnerable"),
    "sign": ("positive positively", "negative negatively"),
    "extreme": (
        "most maximum maximal maximally maximize+ maximise+",
        "least minimum minimal minimally minimize+ minimise+",
    ),
    "count": ("many numerous multi multiple several abundant", "few single scarce paucity dearth"),
    "share": ("always everywhere", "never nowhere"),
    "frequency": ("often frequently usually commonly", "rarely seldom infrequently"),
    "line": ("online", "offline"),
    "clock": ("synchronous synchronously", "asynchronous asynchronously"),
    "place": ("global globally", "local locally"),
    "outlook": ("optimistic", "pessimistic"),
    "distance": ("closer near nearer close", "farther further away far"),
    "order": ("first", "last"),
    "motion": ("dynamic dynamically", "static stationary"),
    "order of events": ("forward", "backward"),
    "help": ("help helps helped helping facilitate+", "hinder+ bottlenecked hamper+"),
    "sufficiency": ("sufficient enough", "insufficient"),
    "choice": ("include+", "exclude+"),
    "outcome": ("succeed+ success successful successfully", "fail+ failure unsuccessful"),
    "steadiness": ("stable stability", "unstable instability volatile"),
    "agreement": ("agree+ agreement consistent", "disagree+ disagreement inconsistent contradict+"),
    "learning": ("supervised", "unsupervised"),
    "sides": ("internal internally", "external externally"),
    "truth": ("real", "synthetic simulated fake"),
    "density": (
        "dense denser densest densify densifies densified densifying",
        "sparse sparser sparsest sparsify sparsifies sparsified sparsifying",
    ),
    "determination": ("deterministic", "stochastic random randomized"),
    "linearity": ("linear linearly", "nonlinear nonlinearly"),
    "convexity": ("convex", "nonconvex"),
    "activity": ("active actively", "passive passively"),
    "coding": ("encode+ encoder", "decode+ decoder"),
    "access": ("public publicly open", "private privately proprietary closed"),
    "symmetry": ("symmetric", "asymmetric"),
    "parallel": ("parallel", "sequential serial sequentially"),
    "hand": ("manual manually", "automatic automatically automated"),
    "completeness": ("complete fully entire entirely completely", "partial partially partly"),
    "variety": ("homogeneous", "heterogeneous"),
    "causing": ("cause+", "prevent+"),
    "allowing": ("allow+ enable+ permit permits", "prevent+ forbid forbids prohibit+"),
    "shots": ("zero", "few"),
    "adding": ("add+ insert+", "remove+ delete+ subtract+"),
    "grade": (
        "excellent exceptional exceptionally great well good impressive remarkable promising",
        "poor poorly bad badly mediocre disappointing",
    ),
    "presence": ("presence", "absence"),
    "noticing": (
        "detect+ identify identifies identified identifying capture+ catch catches catching "
        "notice+ recognize+ recognise+",
        "miss misses missed overlook+ ignore+ neglect+ disregard+",
    ),
    "clarity": (
        "transparent transparency interpretable explainable",
        "opaque opacity uninterpretable unexplainable inscrutable",
    ),
    "phase": ("training", "inference test testing"),
    "tightness": ("tight tighter tightly", "loose looser loosely"),
    "exactness": ("exact exactly", "approximate inexact"),
    "continuity": ("continuous continuously", "discrete"),
    "grain": ("finer", "coarse coarser"),
    "acceptance": ("accept+", "reject+"),
    "centre": ("centralized centralised", "decentralized decentralised"),
    "estimation": ("overestimate+ overfit overfits", "underestimate+ underfit underfits"),
    "explicitness": ("explicit explicitly", "implicit implicitly"),
    "modelling": ("discriminative", "generative"),
    "modality": ("unimodal", "multimodal"),
    "measuring": ("quantitative quantitatively", "qualitative qualitatively"),
    "holding": ("gain+ keep keeps kept preserve+ retain+ maintain+", "lose loses lost losing"),
    "support": ("support+ confirm+", "refute+ contradict+"),
    "similarity": ("similar similarly same alike", "different differ differs dissimilar"),
}
# These are said of one thing against another: who stands before and after them matters.
COMPARING = _words(
    "outperform outperforms outperformed outperforming surpass surpasses surpassed surpassing "
    "exceed exceeds exceeded beat beats beating prefer prefers preferred favor favors favored "
    "underperform underperforms underperformed underperforming lag lags trail trails better worse "
    "superior inferior higher lower more fewer less larger smaller greater faster slower stronger "
    "weaker longer shorter easier harder cheaper ahead behind excel excels bigger simpler"
)
# "improves the error" and "reduces the error" mean the same.
COSTS = _words(
    "error errors loss cost costs time latency delay delays complexity energy memory bias regret "
    "variance noise risk overhead consumption gap failure failures burden runtime perplexity "
    "distance uncertainty hallucination hallucinations toxicity forgetting collisions discrepancy"
)
MEASURES = _words(
    "accuracy precision recall f1 auc auroc bleu rouge perplexity map miou iou mae rmse mse ndcg "
    "mrr sensitivity specificity correlation likelihood throughput latency"
)


@cache
def opposites() -> Mapping[str, tuple[tuple[str, int], ...]]:
    """Return for each word that has an opposite its groups and side (+1 or -1)."""
    found: dict[str, dict[str, int]] = {}
    for group, word, side in _sided():
        found.setdefault(word, {})[group] = side
    return {word: tuple(groups.items()) for word, groups in found.items()}


def _sided() -> Iterator[tuple[str, str, int]]:
    for group, (plus, minus) in _OPPOSITES.items():
        yield from ((group, word, 1) for word in _forms(plus))
        yield from ((group, word, -1) for word in _forms(minus))


def _forms(words: str) -> Iterator[str]:
    """Yield the words; of "raise+" also "raises", "raised" and "raising"."""
    for word in words.split():
        base = word.rstrip("+")
        yield base
        if base != word:
            bare = base.removesuffix("e")
            yield from (f"{base}s", f"{bare}ed", f"{bare}ing")


@cache
def stems_of(words: frozenset[str]) -> frozenset[str]:
    """Return the stems of a set of words."""
    return frozenset(map(stem, words))
