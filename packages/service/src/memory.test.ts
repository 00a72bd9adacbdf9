import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Makes 2 GB of buffers, 8 MB of them alive at a time beside 10 MB of heap, and prints the number of full collections. */
const PASS_BUFFERS_ON = `
  import { constants, PerformanceObserver } from 'node:perf_hooks'
  import { setTimeout as sleep } from 'node:timers/promises'
  let collections = 0
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++
  }).observe({ entryTypes: ['gc'] })
  const heap = Array.from({ length: 100_000 }, (_, index) => ({ text: 'account ' + index }))
  const alive = []
  for (let i = 0; i < 2_000; i++) {
    alive[i % 8] = new Uint8Array(1024 * 1024)
    if (i % 20 === 0) await sleep(1)
  }
  await sleep(50)
  console.log(collections, heap.length)
`

function collectionsAfter(preparation: string): number {
  const args = ['--input-type=module', '--eval', `${preparation}\n${PASS_BUFFERS_ON}`]
  return Number.parseInt(execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: 'utf8' }))
}

test('a process that passes buffers on collects its heap less often, and says nothing of it', () => {
  const counted = collectionsAfter(`
    const { countBuffersWithHeap } = await import('./memory.ts')
    countBuffersWithHeap()
  `)
  expect(counted).toBeLessThan(collectionsAfter('') / 2)
})
