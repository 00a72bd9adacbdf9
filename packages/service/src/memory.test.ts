import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const PROGRAM = `
  const { countBuffersWithHeap } = await import('./memory.ts')
  console.log(countBuffersWithHeap())
`

test('buffers count with the heap on the Node of this project, which says nothing of it', () => {
  const args = ['--input-type=module', '--eval', PROGRAM]
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: import.meta.dirname, encoding: 'utf8' })
  expect({ stdout, stderr }).toEqual({ stdout: 'true\n', stderr: '' })
})
