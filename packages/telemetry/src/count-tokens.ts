/**
 * Counts the tokens of ended requests by the model that served them. Cached tokens are part of the prompt's, reasoning
 * tokens part of the completion's.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { memoize, type Metrics } from './metrics.ts'

export function countTokens(metrics: Metrics): (model: string, usage: TokenUsage) => void {
  const tokens = metrics.counter(
    'gateway_tokens_total',
    '`prompt` (of it `cached`) and `completion` (of it `reasoning`); reported by edges, and by routers for lost edges',
    ['model', 'kind'],
  )
  const ofModel = memoize((model) => ({
    prompt: tokens.labels(model, 'prompt'),
    completion: tokens.labels(model, 'completion'),
    cached: tokens.labels(model, 'cached'),
    reasoning: tokens.labels(model, 'reasoning'),
  }))
  return (model, usage) => {
    const cells = ofModel(model)
    cells.prompt.add(usage.promptTokens)
    cells.completion.add(usage.completionTokens)
    cells.cached.add(usage.cachedTokens)
    cells.reasoning.add(usage.reasoningTokens)
  }
}
