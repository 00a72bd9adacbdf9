/**
 * An understood request as plain values, which can leave the thread that read it, and back. The thread calls its functions
 * beforehand for each lane that may serve it, and keeps the messages that Auto reads.
 */

import { messagesForAuto } from '@gateway/auto/read-text'
import type { ChatMessage } from '@gateway/contracts/chat'
import type { GatewayConfig, ModelConfig, ServedModelConfig } from '@gateway/contracts/config'
import type { HostedCalls } from '@gateway/contracts/hosted-tools'
import type { TokenEstimate } from '../core/estimate-tokens.ts'
import type { InferenceRequest } from './inference-kinds.ts'
import type { Understood } from './understand.ts'

/** The part of the config that a reader needs. */
export interface ReadingConfig {
  models: GatewayConfig['models']
  /** The most tokens of a prompt, by the lane's id. */
  windows: ReadonlyMap<string, number>
}

type Functions = {
  [Name in keyof InferenceRequest]-?: NonNullable<InferenceRequest[Name]> extends (...args: never[]) => unknown
    ? Name
    : never
}[keyof InferenceRequest]

interface OfLane {
  estimate: TokenEstimate
  hosted: HostedCalls | undefined
}

/** No function leaves a thread. A new one of a request needs its results packed, too: the compiler names it. */
type Plain = Omit<InferenceRequest, Functions | 'messages'> & { [Name in Functions]?: never }

export interface PackedRequest {
  inference: Plain
  messages: ChatMessage[]
  modelId: string
  vectors: ReturnType<NonNullable<InferenceRequest['vectorsOf']>> | undefined
  conversationKey: string | undefined
  asksHostedTools: boolean
  ofLanes: Map<string, OfLane>
}

export function packRequest({ inference, model }: Understood, { models, windows }: ReadingConfig): PackedRequest {
  const { estimate, hostedCalls, vectorsOf, conversationKey, messages, ...plain } = inference
  const lanes = lanesOf(model, models)
  return {
    inference: plain,
    messages: model.type === 'auto' ? messagesForAuto(messages) : [],
    modelId: model.id,
    vectors: vectorsOf?.(model),
    conversationKey: conversationKey?.(),
    asksHostedTools: hostedCalls !== undefined,
    ofLanes: new Map(
      lanes.map((lane) => [
        lane.id,
        { estimate: estimate(lane, windows.get(lane.id)), hosted: hostedCalls?.(lane) } satisfies OfLane,
      ]),
    ),
  }
}

/** `model`: of the config that the request was read with. */
export function unpackRequest(packed: PackedRequest, model: ModelConfig): Understood {
  const { inference, messages, vectors, conversationKey, asksHostedTools, ofLanes } = packed
  const ofLane = ({ id }: { id: string }): OfLane => {
    const known = ofLanes.get(id)
    if (!known) throw new Error(`a request was not read for the lane ${id}`)
    return known
  }
  const unpacked: InferenceRequest = {
    ...inference,
    messages,
    ...(vectors && { vectorsOf: () => vectors }),
    ...(conversationKey !== undefined && { conversationKey: () => conversationKey }),
    estimate: (lane) => ofLane(lane).estimate,
    hostedCalls: asksHostedTools ? (lane) => ofLane(lane).hosted! : undefined,
  }
  return { inference: unpacked, model }
}

function lanesOf(model: ModelConfig, models: readonly ModelConfig[]): ServedModelConfig[] {
  const ids = model.type === 'auto' ? new Set<string>(model.lanes) : new Set([model.id])
  return models.filter(
    (candidate): candidate is ServedModelConfig => candidate.type !== 'auto' && ids.has(candidate.id),
  )
}
