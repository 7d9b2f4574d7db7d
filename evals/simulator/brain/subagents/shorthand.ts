/** How clinicians shorten names of nutrients; what a name is, the platform says. Symbols stand in capitals: "mg" is a unit. */
const SYMBOLS: Readonly<Record<string, string>> = { Mg: "magnesium", Ca: "calcium", Zn: "zinc", Fe: "iron" };
const PREPARATION = "supplements?|tabs?|tablets?|caps?|capsules?|pills?|citrate|chloride|gluconate";

/** "Vit D3 2,000 IU", "Mg glycinate", "K tablets", "B12" in the words that a search knows. */
export function spelledOut(text: string): string {
  return text
    .replace(/\bSt\.\s+(?=\p{Lu})/gu, "St ")
    .replace(/\bvit\.?\s*(?=[A-K]\d{0,2}\b)/gi, "vitamin ")
    .replace(/(?<!vitamin )\b(B\d{1,2}|D3|K2)\b/g, "vitamin $1")
    .replace(new RegExp(`\\bK(?= (?:${PREPARATION})\\b)`, "g"), "potassium")
    .replace(/\b(Mg|Ca|Zn|Fe)\b(?!\/)/g, (symbol) => SYMBOLS[symbol] ?? symbol);
}
