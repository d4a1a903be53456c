"""Words with an opposite: more and less, better and worse, before and after."""

from collections.abc import Iterator, Mapping
from functools import cache

from . import listed

# (one side, other side): a word of one side against a word of the other is a contradiction, when
# both are said of the same thing. The first name groups what may be compared.
# "increase+" stands for all forms of the verb.
_OPPOSITES: Mapping[str, tuple[str, str]] = {
    "amount": (
        "increase+ raise+ grow+ grew grown growth rise rises rose risen rising boost+ higher "
        "more larger greater bigger exceed+ above elevate+ enlarge+ amplify amplifies amplified "
        "enhance+ enhancement longer highest largest greatest double+ triple+ wider broader "
        "stronger heavier expand+ extend+ upregulate+ strengthen+ escalate+ intensify "
        "intensifies intensified climb climbs climbed soar+ surge+ widen+ broaden+ magnify "
        "magnifies inflate+ heighten+ prolong+ lengthen+ expansion growing additional multiply "
        "multiplies increasingly",
        "decrease+ reduce+ reduction reductions lower lower+ fall falls fell fallen falling "
        "shrink+ shrank decline+ fewer less smaller below diminish+ lessen+ shorten+ shorter "
        "lowest smallest fewest cut cuts cutting halve+ narrower weaker lighter mitigate+ "
        "attenuate+ impair+ downregulate+ weaken+ minor drop drops dropped dropping dwindle+ "
        "plummet+ narrow+ curtail+ slash slashes slashed contraction shrinkage suppress "
        "suppresses suppressed alleviate+ deflate+ halving decreasingly",
    ),
    "quality": (
        "better outperform+ superior superiority surpass+ beat beats beating best improve+ "
        "improvement improvements ahead excel excels exceed+ prefer prefers preferred favor+ "
        "favour+ preferable stronger advance+ benefit+ enhance+ win wins outdo outdoes outclass "
        "outclasses outclassed outstrip+ overtake overtakes overtook",
        "worse underperform+ inferior inferiority worst degrade+ degradation worsen+ behind "
        "deteriorate+ deterioration weaker lags lag lagging hurt hurts harm+ trail trails "
        "impair+ damage+ suffer+ undermine+ compromise+ sacrifice+ erode+ loses falters",
    ),
    "change": (
        "improve+ improvement improvements gain gains gained increase+ boost+ rise rises rose "
        "risen benefit+ enhance+ strengthen+ enlarge+ expand+ expansion growing growth grow "
        "grows grew heighten+ elevate+ raise+ improving",
        "lower+ reduce+ diminish+ weaken+ drop drops dropped dropping decline+ degrade+ "
        "degradation worsen+ fall falls fell fallen decrease+ deteriorate+ deterioration hurt "
        "hurts harm+ impair+ suffer+ undermine+ compromise+ erode+ plummet+ dwindle+ shrink+ "
        "shrinks shrinkage contraction sink sinks sank sacrifice+ loss losses lag lags",
    ),
    "speed": (
        "faster fast fastest accelerate+ acceleration speedup speedups quicker quick quickly "
        "rapid rapidly swift sped speeds hasten+",
        "slower slow slowest slowly decelerate+ slowdown slows sluggish slow+",
    ),
    "time": (
        "after afterwards later subsequent subsequently post",
        "before prior earlier beforehand pre preceding",
    ),
    "length": (
        "long longer lengthy longest lengthen+ verbose",
        "short shorter shortest brief shorten+ concise succinct terse",
    ),
    "size": (
        "large big larger huge vast massive largest great substantial considerable",
        "small tiny smaller smallest minimal little",
    ),
    "height": ("high higher highest", "low lower lowest"),
    "bound": ("upper", "lower"),
    "strength": ("strong stronger strongest strongly", "weak weaker weakest weakly"),
    "width": ("wide broad wider broader", "narrow narrower"),
    "depth": ("deep deeper", "shallow shallower"),
    "price": (
        "cheap cheaper inexpensive affordable cheaply economical inexpensively",
        "expensive costly pricey costlier costs prohibitive laborious",
    ),
    "effort": (
        "easy easier easily straightforward ease effortless effortlessly trivial trivially simple",
        "hard harder difficult difficulty difficulties challenging tough laborious tedious "
        "arduous nontrivial",
    ),
    "structure": (
        "simple simpler simplicity",
        "complex complicated complexity intricate sophisticated",
    ),
    "scale of a change": ("relative relatively", "absolute"),
    "robustness": (
        "robust robustness resilient insensitive",
        "fragile brittle vulnerable sensitive susceptible prone",
    ),
    "sign": ("positive positively", "negative negatively"),
    "extreme": (
        "most maximum maximal maximally maximize+ maximise+ largest highest greatest biggest peak",
        "least minimum minimal minimally minimize+ minimise+ smallest lowest fewest",
    ),
    "count": (
        "many numerous multi multiple several abundant plenty plentiful multilingual multimodal "
        "myriad",
        "few single scarce monolingual unimodal lone",
    ),
    "share": ("always everywhere", "never nowhere"),
    "frequency": (
        "often frequently usually commonly regularly consistently always typically generally",
        "rarely seldom infrequently sporadically occasionally never",
    ),
    "line": ("online", "offline"),
    "clock": ("synchronous synchronously", "asynchronous asynchronously"),
    "place": ("global globally", "local locally"),
    "outlook": ("optimistic", "pessimistic"),
    "distance": (
        "closer near nearer close pull pulls pulled pulling attract attracts",
        "farther further away far push pushes pushed pushing repel repels",
    ),
    "order": ("first", "last"),
    "motion": ("dynamic dynamically", "static stationary"),
    "order of events": ("forward", "backward"),
    "help": (
        "help helps helped helping facilitate+ promote+ encourage+ foster+ stimulate+ "
        "incentivize+ incentivise+ motivate+ assist+ aid+ ease eases eased easing support+ "
        "strengthen+ boost+ enhance+ advance+ enable+",
        "hinder+ bottlenecked hamper+ restrict+ discourage+ impede+ inhibit+ suppress "
        "suppresses obstruct+ deter deters deterred stifle+ penalize+ penalise+ undermine+ curb "
        "curbs block+ prevent+ weaken+ complicates limits limiting",
    ),
    "sufficiency": ("sufficient enough", "insufficient"),
    "choice": ("include+", "exclude+"),
    "outcome": ("succeed+ success successful successfully", "fail+ failure unsuccessful"),
    "steadiness": ("stable stability", "unstable instability volatile"),
    "agreement": ("agree+ agreement consistent", "disagree+ disagreement inconsistent contradict+"),
    "learning": ("supervised", "unsupervised"),
    "sides": ("internal internally", "external externally"),
    "truth": ("real natural", "synthetic simulated fake artificial"),
    "density": (
        "dense denser densest densify densifies densified densifying",
        "sparse sparser sparsest sparsify sparsifies sparsified sparsifying",
    ),
    "determination": ("deterministic", "stochastic random randomized"),
    "linearity": (
        "linear linearly",
        "nonlinear nonlinearly quadratic quadratically exponential exponentially cubic "
        "logarithmic logarithmically polynomial superlinear sublinear sublinearly superlinearly "
        "nonlinearity",
    ),
    "convexity": ("convex", "nonconvex concave"),
    "activity": ("active actively", "passive passively"),
    "coding": ("encode+ encoder", "decode+ decoder"),
    "access": ("public publicly open", "private privately proprietary closed"),
    "symmetry": ("symmetric", "asymmetric"),
    "parallel": (
        "parallel simultaneously concurrently concurrent",
        "sequential serial sequentially",
    ),
    "hand": (
        "manual manually by-hand handcrafted hand-crafted hand",
        "automatic automatically automated",
    ),
    "completeness": ("complete fully entire entirely completely full", "partial partially partly"),
    "variety": ("homogeneous homogeneity uniform uniformly", "heterogeneous heterogeneity diverse"),
    "causing": ("cause+", "prevent+"),
    "allowing": ("allow+ enable+ permit permits", "prevent+ forbid forbids prohibit+"),
    "shots": ("zero", "few"),
    "adding": ("add+ insert+", "remove+ delete+ subtract+"),
    "grade": (
        "excellent exceptional exceptionally great well good impressive remarkable promising "
        "strong strongly superb outstanding reliable reliably effective effectively competitive "
        "favorable favourable satisfactory successful successfully robust robustly superior "
        "excels",
        "poor poorly bad badly mediocre disappointing weak weakly unreliable unreliably "
        "ineffective ineffectively unfavorable unfavourable unsatisfactory unsuccessful "
        "inferior negligible struggles",
    ),
    "presence": ("presence", "absence"),
    "noticing": (
        "detect+ identify identifies identified identifying capture+ catch catches catching "
        "notice+ recognize+ recognise+",
        "miss misses missed overlook+ ignore+ neglect+ disregard+",
    ),
    "clarity": (
        "transparent transparency interpretable explainable clear clearly",
        "opaque opacity uninterpretable unexplainable inscrutable mysterious obscure",
    ),
    "phase": ("training", "inference test testing"),
    "tightness": ("tight tighter tightly", "loose looser loosely"),
    "exactness": ("exact exactly precise precisely", "approximate inexact imprecise imprecisely"),
    "continuity": ("continuous continuously", "discrete"),
    "grain": ("finer fine", "coarse coarser"),
    "acceptance": ("accept+", "reject+"),
    "centre": (
        "centralized centralised centralization",
        "decentralized decentralised decentralization distributed",
    ),
    "estimation": ("overestimate+ overfit overfits", "underestimate+ underfit underfits"),
    "explicitness": ("explicit explicitly", "implicit implicitly"),
    "modelling": ("discriminative", "generative"),
    "modality": ("unimodal", "multimodal"),
    "measuring": ("quantitative quantitatively", "qualitative qualitatively"),
    "holding": (
        "gain+ keep keeps kept preserve+ retain+ maintain+",
        "lose loses lost losing sacrifice+ forget+ discard+",
    ),
    "support": (
        "support+ confirm+ verify verifies validate+",
        "refute+ contradict+ disprove+ invalidate+",
    ),
    "similarity": (
        "similar similarly same alike comparable comparably identical similarity",
        "different differ differs dissimilar dissimilarity",
    ),
    "virtue": (
        "strength strengths advantage advantages benefit benefits merit merits upside virtue",
        "drawback drawbacks disadvantage disadvantages weakness weaknesses limitation "
        "limitations shortcoming shortcomings downside downsides flaw flaws deficiency "
        "deficiencies obstacle obstacles",
    ),
    "shape": (
        "sharp sharper sharpness sharpest",
        "flat flatter flatness smooth smoother smoothness blurry blurrier blurred fuzzy fuzzier",
    ),
    "ordinary": ("common commonplace ubiquitous prevalent widespread", "rare uncommon unusual"),
    "plenty": (
        "abundance abundant plenty plentiful ample",
        "lack lacks lacking scarcity scarce shortage paucity dearth limited insufficient",
    ),
    "correctness": (
        "correct correctly right true valid accurate accurately",
        "incorrect incorrectly wrong wrongly false falsely invalid inaccurate inaccurately "
        "erroneous erroneously",
    ),
    "safety": ("safe safely harmless benign", "unsafe dangerous harmful malicious toxic"),
    "flow": ("converge+ convergent", "diverge+ divergent"),
    "flexibility": ("flexible adaptive adaptable", "rigid inflexible"),
    "rule": ("strict strictly", "relaxed lenient"),
    "caution": ("conservative conservatively", "aggressive aggressively"),
    "stream": ("upstream", "downstream"),
    "enclosure": ("inside inner interior within", "outside outer exterior"),
    "rank": ("major primary main majority", "minor secondary minority"),
    "attraction": ("appealing attractive desirable", "unappealing unattractive undesirable"),
    "sharing": ("shared jointly joint together", "separate separately individually"),
    "lateness": ("early earlier earliest", "late later latest"),
    "measure": ("accuracy accuracies", "error errors"),
    "age": ("old older outdated", "new newer novel"),
    "attitude": (
        "advantageous beneficial helpful useful",
        "disadvantageous detrimental harmful useless",
    ),
    "belief": ("confirm+ agree+ corroborate+", "deny denies denied refute+ contradict+"),
    "publicity": ("release+ publish+ publishes disclosed", "withhold withholds withheld"),
    "heading": ("upward upwards", "downward downwards"),
    "necessity": (
        "necessary needed required essential crucial",
        "needless unnecessary optional superfluous redundant",
    ),
    "days": ("past previous previously", "future next upcoming"),
    "number of parts": ("multi multiple several various", "single sole"),
    "learning state": ("train+ training", "untrained"),
    "supervision": ("fully strongly", "self weakly semi"),
    "gathering": (
        "merge+ combine+ unify unifies unified unifying unite+ integrate+ fuse+ join+ couple+",
        "split splits splitting separate+ decouple+ disentangle+ isolate+ divide+",
    ),
    "nature": ("intrinsic intrinsically", "extrinsic extrinsically"),
    "uncertainty": ("epistemic", "aleatoric"),
    "reasoning": ("inductive", "transductive"),
    "estimating": ("interpolate+ interpolation", "extrapolate+ extrapolation"),
    "membership": ("inlier inliers", "outlier outliers"),
    "duality": ("primal", "dual"),
    "box": ("black", "white"),
    "axis": ("horizontal horizontally", "vertical vertically"),
    "reversal": ("clockwise", "counterclockwise anticlockwise"),
    "compression": ("lossless", "lossy"),
    "temperature": ("warm warmer hot", "cold cooler cool"),
    "eagerness": ("lazy lazily", "eager eagerly"),
    "intent": ("benign", "malignant adversarial"),
    "scale": ("macro macroscopic", "micro microscopic"),
    "gap": (
        "widen+ enlarge+ broaden+ deepen+ open opens",
        "close+ narrow+ bridge+ shrink shrinks shrinking reduce+ fill+",
    ),
    "trouble": (
        "mitigate+ alleviate+ relieve+ lessen+ ease+ remedy remedies combat combats resolve+ "
        "solve+ overcome overcomes avoid+ reduce+ eliminate+",
        "exacerbate+ aggravate+ worsen+ amplify amplifies amplified intensify intensifies "
        "compound+ introduce+ induce+ cause+",
    ),
    "ends": ("initial initially starting", "terminal final finally ending"),
    "parity": (
        "comparable comparably par equal equals competitive",
        "behind lags lag lagging worse inferior trails trail poorer",
    ),
    "magnitude": (
        "significant significantly substantial substantially considerable considerably dramatic "
        "dramatically drastic drastically markedly greatly vastly",
        "negligible negligibly slight slightly marginal marginally modest modestly "
        "insignificant insignificantly",
    ),
    "majority": ("majority mostly predominantly largely mainly", "minority handful"),
    "trade": ("buy buys buyer buyers bought", "sell sells seller sellers sold"),
    "side of a fight": (
        "attack attacks attacker attackers attacking",
        "defend+ defense defence defenses defences defender defenders",
    ),
    "mail": ("send sends sent sender senders", "receive+ receiver receivers"),
    "sex": ("male males men", "female females women"),
    "health": ("healthy", "diseased sick ill unhealthy"),
    "land": ("urban", "rural"),
    "walls": ("indoor indoors", "outdoor outdoors"),
    "daytime": ("day daytime", "night nighttime"),
    "variates": ("univariate", "multivariate"),
    "ascent": ("ascending ascent", "descending descent"),
    "ground": ("foreground", "background"),
    "light": ("bright brighter", "dark darker"),
    "expertise": ("expert experts", "novice novices layperson laypeople"),
    "stage": ("pretraining pretrain+ pretrained", "finetuning finetune+ finetuned"),
    "kind of attention": ("self", "cross"),
    "case": ("worst", "average best"),
    "tightening": ("tighten+", "loosen+ relax+"),
    "simplification": ("simplify simplifies simplified simplifying", "complicate+"),
    "showing": ("reveal+ uncover+ expose+", "hide hides hidden conceal+ obscure+"),
    "going on": ("continue+ persist+", "stop stops stopped stopping cease+ halt+ terminate+"),
    "appearance": ("appear+ emerge+ arise arises", "disappear+ vanish vanishes vanished vanishing"),
    "recollection": (
        "remember+ memorize+ memorise+",
        "forget forgets forgot forgotten forgetting unlearn+",
    ),
    "supply": ("enrich+", "deplete+ impoverish+"),
    "confidence": ("confident confidently certain", "uncertain unsure doubtful"),
    "dependence on a task": ("agnostic", "specific"),
    "ground of belief": ("theoretical theoretically", "empirical empirically"),
    "hardness": ("hard", "soft"),
    "honesty": ("honest truthful faithful", "deceptive dishonest misleading"),
    "noise": ("clean noiseless", "noisy corrupted contaminated"),
    "balance": ("balanced", "imbalanced skewed"),
    "normality": ("normal", "abnormal anomalous"),
    "weight": ("lightweight compact", "heavyweight bulky heavy"),
}
# These are said of one thing against another: who stands before and after them matters.
COMPARING = frozenset(
    listed(
        "outperform outperforms outperformed outperforming surpass surpasses surpassed "
        "surpassing exceed exceeds exceeded beat beats beating prefer prefers preferred favor "
        "favors favored underperform underperforms underperformed underperforming lag lags "
        "trail trails better worse superior inferior higher lower more fewer less larger "
        "smaller greater faster slower stronger weaker longer shorter easier harder cheaper "
        "ahead behind excel excels bigger simpler"
    )
)
# "improves the error" and "reduces the error" mean the same.
COSTS = frozenset(
    listed(
        "error errors loss cost costs time latency delay delays complexity energy memory bias "
        "regret variance noise risk overhead consumption gap failure failures burden runtime "
        "perplexity distance uncertainty hallucination hallucinations toxicity forgetting "
        "collisions discrepancy"
    )
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
