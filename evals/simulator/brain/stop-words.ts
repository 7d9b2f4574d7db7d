const SMALL = `
a an the this that these those it its it's they them their theirs he him his she her hers i i'm i'd i've me my mine we us our you your
is are am was were be been being do does did done doing don't doesn't isn't aren't can can't cannot could should shouldn't would wouldn't will won't may might
must shall have has had having get gets got let lets let's
and or nor but if then than so as at by for from in into of off on onto out over per to too under up upon via with within without about
after again against all already also always another any anyone anything around because before between beside besides both down during each
either else ever every few first here how however just last least less many more most much neither never next no none not nothing now
often once one only other others own same second several some someone something soon still such there there's third through together
toward until very what what's whatever when where whether which while who who's whom whose why yes yet
please thanks thank hi hello hey ok okay alright
`;

const ASKING = `
tell ask asked say says said know known show shows list give gives given giving look looks looking lookup find finds search check checks checked
checking see explain describe think wonder wondering want wants wanted need needs needed like likes help helps try tried answer question
name names named called call consider considering plan plans planning happen happens happening does anything else going go
extend extends expand design develop replace replaces swap exchange remove removes drop omit skip change changes changed
create creates make makes save build write move insert prepare put add new called title say's mean means meant double summarise summarize review verify compare compares comparing
`;

const CLINIC = `
patient patients patient's client person people someone adult woman man doctor physician clinician provider
medication medications medicine medicines med meds drug drugs prescription prescriptions supplement supplements product products brand brands
item items thing things pills tablet tablets capsule capsules softgel softgels powder powders liquid liquids lozenge lozenges gummy gummies chewable drops form
dose doses dosage dosing daily twice day days week weeks month times morning evening night bedtime meal food breakfast
interact interacts interacting interaction interactions interfere interferes conflict conflicts combine combines combined combining combination
mix mixes mixed mixing pair pairs paired pairing alongside plus versus vs start starts started starting stop stopping continue
take takes taken taking took use uses used using add adds added adding put include co-administer coadminister administer prescribe prescribed
contraindicated contraindication contraindications safe safely safety unsafe fine dangerous danger risk risks risky harmful harm bad good best better
problem problems issue issues concern concerns worry worried careful caution cautions warning warnings effect effects side serious severe major moderate minor
possible potential significant clinically current currently existing new recommend recommends recommended recommendation recommendations
suggest suggests suggested suggestion suggestions option options choose pick available stock cheap cheapest alternative alternatives
deplete depletes depleted depleting depletion depletions deficiency deficiencies nutrient nutrients lower lowers cause causes caused
lab labs laboratory test tests testing tested marker markers level levels status range ranges reference interval order measure monitor value values loinc
evidence study studies studied trial trials research literature paper papers published data science scientific proof review reviews meta-analysis
meta-analyses works work working effective effectiveness efficacy benefit benefits
draft drafts record recorded records profile chart allergies conditions regimen regarding concerning high low typical recommend maximum upper limit
note notes visit visits treatment protocol propose proposes proposed proposal proposals accept accepts accepted dismiss dismissed
minute minutes hour hours based interested particular specific kind type sort appropriate suitable
well maybe perhaps really actually quick quickly anything's
`;

const UNITS = "mg mcg µg ug g gram grams iu ml units unit percent times x";

const set = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""));

/** Words of the language that no search needs. */
export const SMALL_WORDS = set(SMALL);
const STOP_WORDS = new Set([...SMALL_WORDS, ...set(ASKING), ...set(CLINIC)]);
const UNIT_WORDS = set(UNITS);

/** Whether a lower-case word belongs to the asking and not to what is asked about. */
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word.replace(/'s$/, "")) || STOP_WORDS.has(word);
export const isUnit = (word: string): boolean => UNIT_WORDS.has(word.toLowerCase());

const HEALTH = set(`
sleep insomnia stress anxiety mood depression energy fatigue tiredness pain joint joints arthritis bone bones heart cholesterol pressure blood sugar glucose
immune immunity digestion gut constipation migraine migraines headache headaches skin hair nails memory focus brain muscle cramps pregnancy menopause
inflammation health wellness weight thyroid eye eyes vision recovery performance colds flu allergies neuropathy deficiency status function support prevention
`);

/** Whether every word of a phrase speaks of a complaint or an aim ("blood pressure"), so that it can't be a person. */
export const isPurpose = (phrase: string): boolean =>
  phrase
    .toLowerCase()
    .split(/\s+/)
    .some((word) => HEALTH.has(word));
