import { defineConfig } from "vitest/config";

/**
 * `unit` runs in one process each and needs nothing; `integration` (files named `x.int.test.ts`) shares one embedded
 * PostgreSQL that the global set-up starts and stops; `process` (`x.proc.test.ts`) starts whole servers and kills them.
 */
export default defineConfig({
  test: {
    // Two, also where there are two cores: most files wait for a database, a timer or another process.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "unit",
          include: ["**/*.test.ts", "**/*.test.tsx"],
          exclude: ["**/*.int.test.ts", "**/*.proc.test.ts", "node_modules", "dist"],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["**/*.int.test.ts"],
          exclude: ["node_modules", "dist"],
          globalSetup: ["persistence/testing/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "process",
          include: ["**/*.proc.test.ts"],
          exclude: ["node_modules", "dist"],
          globalSetup: ["persistence/testing/global-setup.ts", "client/e2e/global-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
