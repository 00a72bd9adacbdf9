/**
 * A reporter for vitest that ends a run with one plain line: `120 passed, 1 failed, 2 skipped`.
 *
 * An error that kept tests from running (a file that does not load, an error outside of tests) counts as a failed test.
 */

import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export default class CountTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      counts.failed += module.errors().length
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state !== 'pending') counts[state]++
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
    // After the other reporters' summary.
    process.on('exit', () => process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`))
  }
}
