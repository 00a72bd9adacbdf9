/**
 * The names of a request to a model in OpenTelemetry's semantic conventions for generative AI. Names and figures only,
 * never prompts or answers.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import type { Attributes } from './tracing.ts'

const OPERATIONS: Record<JobKind, string> = { chat: 'chat', embeddings: 'embeddings', images: 'generate_content' }

export function operationOf(kind: JobKind): string {
  return OPERATIONS[kind]
}

export function requestAttributes(kind: JobKind, model: string): Attributes {
  return { 'gen_ai.operation.name': operationOf(kind), 'gen_ai.request.model': model }
}

export function usageAttributes(usage: TokenUsage): Attributes {
  return {
    'gen_ai.usage.input_tokens': usage.promptTokens,
    'gen_ai.usage.output_tokens': usage.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
    'gateway.usage.estimated': usage.estimated,
  }
}
