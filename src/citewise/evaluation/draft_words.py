"""The words that drafting goes by: tables to read and to extend, all of them for English."""

from collections.abc import Mapping


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def _phrases(listed: str) -> frozenset[str]:
    return frozenset(" ".join(one.split()) for one in listed.split("|"))


# How do I …? Verbs that say so wherever a heading begins with them, and their -ing forms.
VERBS: Mapping[str, str] = {
    "activate": "activating",
    "add": "adding",
    "adjust": "adjusting",
    "avoid": "avoiding",
    "calibrate": "calibrating",
    "choose": "choosing",
    "clean": "cleaning",
    "collect": "collecting",
    "compile": "compiling",
    "configure": "configuring",
    "connect": "connecting",
    "convert": "converting",
    "create": "creating",
    "customize": "customizing",
    "define": "defining",
    "delete": "deleting",
    "deploy": "deploying",
    "detect": "detecting",
    "diagnose": "diagnosing",
    "disable": "disabling",
    "enable": "enabling",
    "ensure": "ensuring",
    "evaluate": "evaluating",
    "fix": "fixing",
    "get": "getting",
    "handle": "handling",
    "hand over": "handing over",
    "implement": "implementing",
    "improve": "improving",
    "initialize": "initializing",
    "install": "installing",
    "integrate": "integrating",
    "maintain": "maintaining",
    "migrate": "migrating",
    "mount": "mounting",
    "optimize": "optimizing",
    "prepare": "preparing",
    "prevent": "preventing",
    "publish": "publishing",
    "reduce": "reducing",
    "remove": "removing",
    "replace": "replacing",
    "reset": "resetting",
    "restore": "restoring",
    "rotate": "rotating",
    "select": "selecting",
    "send": "sending",
    "set up": "setting up",
    "speak to": "speaking to",
    "switch to": "switching to",
    "troubleshoot": "troubleshooting",
    "tune": "tuning",
    "uninstall": "uninstalling",
    "update": "updating",
    "upgrade": "upgrading",
    "use": "using",
    "validate": "validating",
    "verify": "verifying",
    "visualize": "visualizing",
    "work with": "working with",
    "write": "writing",
}
# These are as often nouns ("Test coverage"): they are verbs where an article, or what acts as one, follows.
MAYBE_VERBS = _words(
    """
    apply attach build change charge check close collect compare control copy correct design draw drive find flash
    follow judge keep launch leave level list load log look make map match measure monitor move open order plan
    power press pull push put read record repair report reset restart review run save search set share ship sign
    start stop store take teach tell test tighten train transfer turn wait wire
    """
)
ARTICLES = _words("a an the your each every all any this that it both")

# Headings that say what a part is for, and nothing of what it is about.
GENERIC = _phrases(
    """
    about | abstract | academic calendar | acknowledgments | activities | activity | additional resources |
    advanced topics | answer key | answers | appendix | assessment | assessment questions | assignments | background
    | basic operations | before you start | best practice | bibliography | case study | challenge extension |
    changelog | common issues | concept | conclusion | contents | continuing your learning journey | conventions |
    core features | course summary | credits | deliverables | delivery | details | discussion | example |
    example file | examples | excellent | exercise | exercises | expected output | expected results |
    extension activities | extensions | faq | features | final thoughts | first five minutes | further reading |
    future directions | general | getting help | getting started | glossary | good | grading | grading rubric |
    hand in | hands-on exercise | implementation | implementation example | in this chapter | index | instructions |
    introduction | key challenges | key concepts | key ideas | key points | key takeaways | key terms |
    lab procedure | lab title | learning objectives | learning outcomes | license | main ideas | materials |
    metadata | method | methods | minimum specifications | misc | miscellaneous | module overview | more information
    | motivation | needs improvement | next section | next steps | notes | objective | objectives | on call |
    options | other | outcomes | outline | outlook | output | overview | parameters | practical applications |
    practical considerations | practice | prerequisites | problem | procedure | project components | questions |
    quick start | quiz | readme | recommended specifications | references | related | related work | requirements |
    resources | result | results | review | review questions | rubric | satisfactory | scope | section | see also |
    setup | solution | solutions | step | steps | submission | success criteria | success strategies | summary |
    support | table of contents | task | tasks | tbd | tbd sections | terminology | test | tests | the basics |
    timeline | tips | title | toc | todo | topics | topics covered | usage | verification | what is next |
    what it means | what you need | what you will do | what you will learn | what's next | why it matters
    """
)
# Of these, the ones under which nothing is said that anybody would look for.
FACTLESS = _phrases(
    """
    about | abstract | academic calendar | acknowledgments | activities | activity | additional resources |
    advanced topics | answer key | answers | appendix | assessment | assessment questions | assignments |
    basic operations | bibliography | case study | challenge extension | changelog | conclusion | contents |
    continuing your learning journey | course summary | credits | deliverables | discussion | example | example file
    | examples | exercise | exercises | expected output | expected results | extension activities | extensions |
    final thoughts | further reading | future directions | getting help | grading | grading rubric | hand in |
    hands-on exercise | implementation example | in this chapter | index | instructions | key challenges |
    key points | key takeaways | lab procedure | learning objectives | learning outcomes | license | materials |
    metadata | module overview | more information | needs improvement | next section | next steps | objective |
    objectives | other | outcomes | outline | outlook | practice | prerequisites | problem | project components |
    questions | quiz | readme | references | related | related work | resources | review | review questions | rubric
    | section | see also | solutions | step | submission | success criteria | success strategies | summary | support
    | table of contents | task | tasks | tbd | tbd sections | test | tests | timeline | toc | todo | topics |
    topics covered | verification | what is next | what you will do | what you will learn | what's next |
    why it matters
    """
)
# Headings with one of these words, and all below them, are about a course and not about its matter.
COURSEWORK = _words(
    """
    accessibility accommodations achievements assessment assessments assignment assignments capstone exercise
    exercises grading homework instructor objectives outcomes points pre-lab quiz rubric schedule syllabus template
    topics week weekly weeks welcome
    """
)

# Headings that ask something of what stands above them.
ASPECTS: Mapping[str, str] = {
    "advantages": "What are the advantages of {topic}?",
    "applications": "What is {topic} used for?",
    "architecture": "How is {topic} built?",
    "benefits": "What are the benefits of {topic}?",
    "best practices": "What are best practices for {topic}?",
    "challenges": "What makes {topic} difficult?",
    "common mistakes": "What are common mistakes in {topic}?",
    "common problems": "What are common problems with {topic}?",
    "components": "What are the components of {topic}?",
    "configuration": "How do I configure {topic}?",
    "definition": "What is {topic}?",
    "definition and importance": "What is {topic}?",
    "definition and principles": "What is {topic}?",
    "disadvantages": "What are the disadvantages of {topic}?",
    "hardware requirements": "What hardware do I need for {topic}?",
    "how it works": "How does {topic} work?",
    "installation": "How do I install {topic}?",
    "key components": "What are the main components of {topic}?",
    "key features": "What are the main features of {topic}?",
    "known issues": "What are the known issues of {topic}?",
    "limitations": "What are the limitations of {topic}?",
    "safety considerations": "What should I watch out for with {topic}?",
    "system requirements": "What does {topic} require?",
    "troubleshooting": "How do I troubleshoot {topic}?",
    "troubleshooting common issues": "How do I troubleshoot {topic}?",
    "troubleshooting tips": "How do I troubleshoot {topic}?",
    "use cases": "What is {topic} used for?",
}

# What stands before a heading's own words: "Step 3: …", "Part B: …", "Week 2-3: …"
LABELS = _words(
    """
    activity appendix case challenge chapter day days example exercise experiment figure lab lesson level module
    note option part phase principle problem project question rule section stage step table task tip topic unit week
    """
)
# What stands before a thing's name in the heading of a chapter about it.
PREFACES = _phrases(
    """
    about | basics of | foundations of | fundamentals of | introduction to | overview of | understanding | using |
    working with
    """
)

# A question that holds one of these points at something that its reader does not see.
POINTERS = _words(
    """
    above another below else following former he her here hers him his it its itself latter our ours previous same
    she such their theirs them there these they this those us we
    """
)
# What no term begins with, and no term is.
NO_TERMS = _words(
    """
    additionally advantage after aim all also although an and another answer any approach as at because before
    benefit best both but by case challenge currently difference each either every example fact few finally first
    focus following for from furthermore generally goal her here his how however idea if important in instead it its
    key last least main many modern more moreover most much my neither next no none not note nothing number
    objective of on once one only or other others others' our overall part point problem purpose question reason
    recent rest result second several since so some step such task than that their then there these they thing
    things third this those though thus to today two typically unlike until way we what when where whether which
    while who why with you your
    """
)
# "X is a … part of Y": praise, and no definition.
PRAISE = _words(
    """
    backbone challenging cornerstone critical crucial essential foundation fundamental growing heart important key
    major most necessary significant valuable vital
    """
)
# Words that carry little: left out of keywords, and not counted when questions are compared.
SMALL = _words(
    """
    a about above after again all also always am among an and any are as at be because been before being below
    between both but by can cannot could did do does doing down during each either else ever every few for from
    further had has have having he her here hers him his how however i if in into is it its itself just less let
    like many may me might mine more most much must my near no nor not now of off often on once one only onto or
    other otherwise our out over own per rather same several shall she should since so some such than that the their
    them then there these they this those though through thus to too toward under unless until up upon us use used
    uses using very via was we well were what when where whether which while who whom whose why will with within
    without would yet you your
    """
)
# Written-out numbers and units: the answer to a fact's question, or nothing that one would look for.
QUANTITIES = _words(
    """
    GHz MHz able about approximately around billion chapter deg e.g eight eleven etc first five four fps hPa half
    hundred i.e kHz lab least million module most nine one page per percent rad second section seven six ten third
    thirty thousand three twelve twenty two up week
    """
)
# A main clause that begins so is none: the comma before it belonged to something else.
JOINING = _words(
    """
    and as because but either including nor not or so such that then these this where which while who
    """
)
# What a condition does not begin with, or it is no clause.
NO_CONDITION = _words("in at on not possible necessary needed applicable done appropriate used combined properly")
# A sentence with one of these may tell what must not be told on.
SECRETIVE = _words("password passwords passphrase passcode pin pins secret secrets credential credentials")
