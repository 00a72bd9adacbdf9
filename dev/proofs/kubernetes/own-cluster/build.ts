/**
 * Builds a Kubernetes and runs a proof on it, in a world of its own. Linux, as root; needs Go, and installs missing packages of
 * Debian. It leaves its cache below `.artifacts/prove`, with the programs' logs, and nothing else.
 */

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findPrometheus } from '@gateway/testing/promtool'
import { buildBuilders } from '../../engine/builder.ts'
import { CACHE } from '../../engine/engine.ts'
import { goProgram } from '../../engine/go-program.ts'
import { runInOwnWorld } from '../../engine/own-world.ts'
import { ENGINE_PROGRAMS, ensurePrograms } from '../../engine/packages.ts'
import { buildKubernetes, buildNodePrograms, buildPolicyEngine } from './build-binaries.ts'
import { buildKeda } from './keda.ts'
import type { Plan } from './plan.ts'

const API_PROGRAMS = { slirp4netns: ENGINE_PROGRAMS.slirp4netns, ip: 'iproute2' }
const NODE_PROGRAMS = {
  containerd: 'containerd',
  conntrack: 'conntrack',
  openssl: 'openssl',
  '../lib/cni/host-local': 'containernetworking-plugins',
  ipset: 'ipset',
}

const METRICS_SERVER = {
  name: 'metrics-server',
  module: 'sigs.k8s.io/metrics-server',
  version: 'v0.9.0',
  entry: './cmd/metrics-server',
}

/** Returns the proof's exit code. `isApiOnly`: the API server alone, without a node. */
export async function proveOnOwnCluster({ isApiOnly, only }: { isApiOnly: boolean; only: string }): Promise<number> {
  const cache = join(CACHE, 'kubernetes')
  const logs = join(cache, 'logs')
  rmSync(logs, { recursive: true, force: true })
  mkdirSync(logs, { recursive: true })
  await ensurePrograms(isApiOnly ? API_PROGRAMS : { ...API_PROGRAMS, ...ENGINE_PROGRAMS, ...NODE_PROGRAMS })
  if (!isApiOnly) await buildBuilders()
  const plan: Plan = {
    logs,
    only,
    kubernetes: await buildKubernetes(cache),
    nodePrograms: isApiOnly ? '' : await buildNodePrograms(cache),
    policyEngine: isApiOnly ? '' : await buildPolicyEngine(cache),
    metricsServer: isApiOnly ? '' : await goProgram(METRICS_SERVER),
    prometheus: isApiOnly ? '' : await findPrometheus(),
    keda: isApiOnly ? undefined : await buildKeda(),
  }
  const script = join(import.meta.dirname, isApiOnly ? 'prove-api.ts' : 'prove-cluster.ts')
  return runInOwnWorld(script, [JSON.stringify(plan)])
}
