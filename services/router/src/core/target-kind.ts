/**
 * The kind of a target. Targets of one kind refuse the same requests. A target of another kind may accept a request that
 * the first one refused: it speaks another dialect, has other capabilities, or is another vendor's.
 */

import type { BackendConfig } from '@gateway/contracts/config'

/** Vendors by the domains of their public addresses. All other servers are the operator's own, and one kind. */
const VENDOR_OF_DOMAIN: Record<string, string> = {
  'openai.com': 'openai',
  'azure.com': 'azure',
  'anthropic.com': 'anthropic',
  'googleapis.com': 'google',
  'amazonaws.com': 'bedrock',
  'openrouter.ai': 'openrouter',
  'x.ai': 'xai',
  'mistral.ai': 'mistral',
  'groq.com': 'groq',
  'together.xyz': 'together',
  'fireworks.ai': 'fireworks',
  'deepseek.com': 'deepseek',
  'deepinfra.com': 'deepinfra',
  'cohere.com': 'cohere',
  'cerebras.ai': 'cerebras',
  'perplexity.ai': 'perplexity',
  'nvidia.com': 'nvidia',
}

type Described = Pick<BackendConfig, 'dialects' | 'url' | 'capabilities' | 'vendor'>

export function kindOf(backend: Described): string {
  return [backend.dialects.toSorted().join('+'), vendorOf(backend), ...backend.capabilities.toSorted()].join(' ')
}

/** As the config names it, else by its address; empty where neither tells. */
export function vendorOf({ vendor, url }: Pick<Described, 'vendor' | 'url'>): string {
  if (vendor !== undefined) return vendor
  const { hostname } = new URL(url)
  const domain = hostname.split('.').slice(-2).join('.')
  return VENDOR_OF_DOMAIN[domain] ?? ''
}
