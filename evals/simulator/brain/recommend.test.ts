import { describe, expect, test } from "vitest";
import { type FakeTool, kinds, patient, product, talk } from "./testing.ts";

describe("recommendations and plans", () => {
  const orla = patient("p-1", "Orla Quensby", { allergies: ["milk protein"] });
  const scene = (over: Record<string, FakeTool> = {}, skills: string[] = []) =>
    talk(
      {
        patient_search: () => ({ patients: [orla] }),
        interaction_check: kinds(["zorvane"]),
        product_search: () => ({
          products: [
            product("gone", "Glimroot Old", { inStock: false }),
            product("big", "Glimroot Max", { exceedsUpperLimit: ["glimroot"] }),
            product("milk", "Glimroot Milky", { allergens: ["milk"] }),
            product("powder", "Glimroot Powder", { form: "powder" }),
            product("caps", "Glimroot Caps"),
          ],
        }),
        recommend_supplements: () => "shown",
        treatment_plan_get: () => ({ plans: [] }),
        treatment_plan_create: ({ patientId, title, items }) => ({
          plan: {
            id: "plan-9",
            patientId,
            patientName: "Orla Quensby",
            status: "draft",
            title,
            items: (items as object[]).map((item) => ({ ...item, name: "Glimroot Caps" })),
          },
        }),
        ...over,
      },
      skills,
    );
  const caps = { productId: "prd-caps", variantId: "var-caps", dosing: "2 servings daily (200 mg)" };

  test("checks the medications, leaves out what must not be, and prefers the patient's form", () => {
    const chat = scene();
    const { calls, answer } = chat.say("recommend a glimroot for Orla Quensby");
    expect(calls.map(({ tool }) => tool)).toEqual([
      "patient_search",
      "product_search",
      "interaction_check",
      "recommend_supplements",
    ]);
    expect(calls[2]?.args).toEqual({ items: ["zorvane", "glimroot"] });
    expect(calls[3]?.args["patient_id"]).toBe("p-1");
    expect(calls[3]?.args["supplements"]).toEqual([
      {
        variant_id: "var-caps",
        dosing: caps.dosing,
        rationale: "In stock; a capsule, the form the patient prefers; a single ingredient.",
      },
      { variant_id: "var-powder", dosing: caps.dosing, rationale: "In stock; a single ingredient." },
    ]);
    expect(answer).toContain("(1 out of stock, 1 above an upper limit and 1 with an allergen of the patient)");
  });

  test("a major interaction stands in the way of a product", () => {
    const finding = { a: "zorvane", b: "glimroot", severity: "major", advice: "Never." };
    const { calls, answer } = scene({ interaction_check: () => ({ findings: [finding] }) }).say(
      "recommend glimroot for Orla Quensby",
    );
    expect(calls.map(({ tool }) => tool)).not.toContain("recommend_supplements");
    expect(answer).toContain("I don't suggest a product with glimroot for Orla Quensby");
    expect(answer).toContain("Never.");
  });

  test("asks when several patients match, and when none does", () => {
    const two = [patient("p-1", "Orla Quensby"), patient("p-2", "Orla Quensley")];
    expect(
      scene({ patient_search: () => ({ patients: two }) }).say("recommend glimroot for patient Orla").answer,
    ).toContain("Which one do you mean?");
    expect(
      scene({ patient_search: () => ({ patients: [] }) }).say("recommend glimroot for Orla Quensby").answer,
    ).toContain('I found no patient called "Orla Quensby"');
  });

  test("a search hit by medication is not taken for a name", () => {
    const { answer } = scene({ patient_search: () => ({ patients: [patient("p-3", "Bram Oster")] }) }).say(
      "recommend glimroot for Orla Quensby",
    );
    expect(answer).toContain('I found no patient called "Orla Quensby"');
  });

  test("[J-01] the patient and the brands come from the context, unescaped; the user's text is not mistaken for it", () => {
    const seen: unknown[] = [];
    const chat = scene({
      patient_get: ({ id }) => {
        seen.push(id);
        return { patient: patient("p-7", "Orla Quensby", { preferences: {} }) };
      },
      product_search: () => ({
        products: [product("a", "Glimroot A"), product("b", "Glimroot B", { brand: "Moss & Fen" })],
      }),
    });
    const context = `<context><patient id="p-7" name="Orla &quot;O&quot;"/><preferences>Brands: Moss &amp; Fen</preferences></context>`;
    const { calls } = chat.say("which glimroot product for my patient?", context);
    expect(seen).toEqual(["p-7"]);
    expect(calls.at(-1)?.args["supplements"]).toMatchObject([{ variant_id: "var-b" }, { variant_id: "var-a" }]);
    expect(chat.say("what did I just ask?").answer).toBe("You asked: “which glimroot product for my patient?”");
  });

  test("“it” is the first recommended product, “the second one” the second, “both” all", () => {
    const items = (text: string) => {
      const chat = scene();
      chat.say("recommend a glimroot for Orla Quensby");
      const { calls } = chat.say(text);
      return ((calls.at(-1)?.args["items"] ?? []) as { variantId: string }[]).map(({ variantId }) => variantId);
    };
    expect(items("Add it to a draft plan for Orla Quensby")).toEqual(["var-caps"]);
    expect(items("put the second one in a plan for her")).toEqual(["var-powder"]);
    expect(items("put both in a plan for Orla Quensby")).toEqual(["var-caps", "var-powder"]);
    expect(items("add the powder to a draft plan for Orla Quensby")).toEqual(["var-powder"]);
  });

  test("creates a draft, then adds to it, and writes nothing that it already holds", () => {
    const plans: { id: string; status: string; patientId: string; items: object[] }[] = [];
    const chat = scene({
      treatment_plan_get: () => ({ plans }),
      treatment_plan_create: ({ items }) => {
        plans.push({ id: "plan-9", status: "draft", patientId: "p-1", items: items as object[] });
        return { plan: plans[0] };
      },
      treatment_plan_update: ({ addItems }) => {
        plans[0]?.items.push(...(addItems as object[]));
        return { plan: plans[0] };
      },
    });
    chat.say("recommend a glimroot for Orla Quensby");
    const last = (text: string) => chat.say(text).calls.at(-1);
    expect(last("Add it to a draft plan for Orla Quensby")).toEqual({
      tool: "treatment_plan_create",
      args: { patientId: "p-1", title: "Plan for Orla Quensby", items: [caps] },
    });
    expect(last("add it to her plan")?.tool).toBe("treatment_plan_get");
    expect(last("add the second one to her plan")).toEqual({
      tool: "treatment_plan_update",
      args: { id: "plan-9", addItems: [{ ...caps, productId: "prd-powder", variantId: "var-powder" }] },
    });
    expect(plans).toHaveLength(1);
  });

  test("without the tool it says so and invents no plan", () => {
    const { answer, calls } = talk({ patient_search: () => ({ patients: [] }) }).say(
      "add zinc to a draft plan for Orla Quensby",
    );
    expect([answer, calls]).toEqual([
      "Creating or changing treatment plans is not available in this session, so I did not write anything.",
      [],
    ]);
  });
});
