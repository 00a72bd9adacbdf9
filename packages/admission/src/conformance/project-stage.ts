/**
 * A project on an adapter, with one key that has limits. Its calls take the hint of the policies as an edge does.
 */

import type { AdmitDecision, KeyLimits, KeyTotal, ModelLimits, PlanLimits, ProjectFacts } from '../port.ts'
import type { OpenAdmission } from './adapters.ts'
import { KEY, newAccount, type RequestOptions, type Stage } from './stage.ts'

export const MODEL = 'svc-chat-md'
export const KEY_ID = 'key00001'

export interface ProjectOptions {
  plan?: Partial<PlanLimits>
  key?: Partial<KeyLimits>
  model?: Partial<ModelLimits>
  hardLimit?: number
  overage?: boolean
  extra?: number
}

export interface ProjectStage extends Stage {
  /** Fills the project and its key, in this version. */
  fillProject(options?: ProjectOptions & { version?: number }): Promise<void>
  warmKey(settled?: number, version?: number): Promise<void>
  settleKeys(settled: number, version: number, included: string[], keys: KeyTotal[]): Promise<void>
}

export const keyLimitsOf = (limits: Partial<KeyLimits> = {}): KeyLimits => ({
  ...{ keyId: KEY_ID, expiresAtMs: null, monthly: null, requestsPerMinute: null, tokensPerMinute: null },
  policy: 'of the key',
  ...limits,
})

export function projectOf({ model, hardLimit }: ProjectOptions, policyVersion = 1): ProjectFacts {
  const limits = { model: MODEL, requestsPerMinute: null, tokensPerMinute: null, requestsPerDay: null, ...model }
  return { hardLimit: hardLimit ?? null, modelLimits: model ? [limits] : [], policy: 'of the project', policyVersion }
}

/** Filled and warm. */
export async function knownProject(open: OpenAdmission, options: ProjectOptions = {}): Promise<ProjectStage> {
  const stage = await newProject(open, options)
  await stage.fillProject()
  await stage.warm()
  const decision = await stage.admit({ takes: 'nothing' })
  if (decision.kind === 'cold') await stage.warmKey()
  return stage
}

export async function newProject(open: OpenAdmission, options: ProjectOptions = {}): Promise<ProjectStage> {
  const stage = await newAccount(open, options.plan)
  const { admission, account } = stage
  const hints = new Map<string, string>()
  const admit = async (request: RequestOptions = {}): Promise<AdmitDecision> => {
    const keyHash = request.keyHash ?? KEY
    const call = () => stage.admit({ model: MODEL, policyHint: hints.get(keyHash), ...request })
    const decision = await call()
    if (decision.kind !== 'plan' || !decision.policy || 'policyHint' in request) return decision
    hints.set(keyHash, decision.policy.hint)
    return call()
  }
  const window = async () => (await admission.currentWindow()).window
  return Object.assign(Object.create(stage) as Stage, {
    admit,
    admitAtOnce: async (count: number, request?: RequestOptions) => {
      await admit({ ...request, takes: 'nothing' })
      return Promise.all(Array.from({ length: count }, () => admit(request)))
    },
    fillProject: ({ version = 1, ...changed }: ProjectOptions & { version?: number } = {}) => {
      const { overage = false, extra = 0, key, ...project } = { ...options, ...changed }
      const keys = [{ keyHash: KEY, version, active: true, limits: keyLimitsOf(key) }]
      return stage.fill({ version, overage, extra, keys, project: projectOf(project, version) })
    },
    warmKey: async (settled = 0, version = 0) => {
      const keys = [{ keyId: KEY_ID, settled }]
      await admission.warm({ account, window: await window(), settled, version, keys })
    },
    settleKeys: async (settled: number, version: number, ids: string[], keys: KeyTotal[]) => {
      const included = ids.map((requestId) => ({ requestId }))
      await admission.applyTotal({ account, window: await window(), settled, version, included, keys })
    },
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  })
}
