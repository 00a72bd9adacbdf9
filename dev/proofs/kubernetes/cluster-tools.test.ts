/**
 * No command of a proof may reach the current context of the reader: each names its cluster.
 */

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { clusterTools, invocationOf } from './cluster-tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'gateway-cluster-tools-'))
const log = join(folder, 'log')
const program = join(folder, 'program')
writeFileSync(program, `#!/bin/sh\necho "$@" >> ${log}\necho '{}'\n[ "$3" != port-forward ] || exec sleep 600\n`)
chmodSync(program, 0o755)
afterAll(() => rmSync(folder, { recursive: true }))

test('every command on a given cluster carries its context', async () => {
  const tools = clusterTools({ context: 'theirs' }, () => program)
  await tools.kubectl('delete', 'pod', 'edge')
  await tools.apply([{ kind: 'Namespace' }], '--dry-run=server')
  await tools.read('pods')
  await tools.helm('uninstall', 'gateway')
  await using _forward = await tools.forward('deployment/proxy', { local: 1, remote: 2 }, '--namespace', 'some')
  expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual([
    '--context theirs delete pod edge',
    '--context theirs apply --server-side --filename - --dry-run=server',
    '--context theirs get --output json pods',
    '--kube-context theirs uninstall gateway',
    '--context theirs port-forward deployment/proxy 1:2 --namespace some',
  ])
})

test('with any arguments, a given cluster is named once, before them, and an own one by its file alone', () => {
  const anyArgs = fc.array(fc.string())
  fc.assert(
    fc.property(fc.constantFrom('kubectl' as const, 'helm' as const), anyArgs, fc.string(), (tool, args, name) => {
      const flag = tool === 'helm' ? '--kube-context' : '--context'
      expect(invocationOf(tool, args, { context: name }).args).toEqual([flag, name, ...args])
      const own = invocationOf(tool, args, { kubeconfig: name })
      expect(own.args).toEqual(args)
      expect(own.env['KUBECONFIG']).toBe(name)
      expect(own.env['HOME']).not.toBe(process.env['HOME'])
    }),
  )
})
