/**
 * A key as the keys service states it to an edge that has lost the admission store. The state and the policies have the words
 * of the store.
 */

import { hash } from 'node:crypto'
import type { KeyState, PolicyFacts } from '@gateway/admission/port'
import type { LookUpReply } from '@gateway/contracts/keys-api'

export type LookedUpKey = Extract<LookUpReply, { kind: 'active' }>

/** Undefined: the key is no project's. The hint is one of the texts, which the keys service states without versions. */
export function policyOf({ project, limits }: LookedUpKey): PolicyFacts | undefined {
  if (project === undefined || limits === undefined) return undefined
  const hint = hash('sha256', JSON.stringify([project.policy, limits.policy]), 'base64url')
  return { hint, project: project.policy, key: limits.policy }
}

export function keyStateOf(reply: LookUpReply): KeyState {
  if (reply.kind === 'dead') return { kind: 'deny' }
  const { plan, overage, extra, project } = reply
  const policy = policyOf(reply)
  const ofProject = project && policy && { project: { hardLimit: project.hardLimit, policy } }
  return { kind: 'active', plan, overage, extra, used: null, ...ofProject }
}
