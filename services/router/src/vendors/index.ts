/** The profiles of all vendors, and the choice of one for a backend. */

import type { BackendConfig } from '@gateway/contracts/config'
import { vendorByHost, type VendorName } from '@gateway/contracts/vendors'
import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { cerebras } from './cerebras.ts'
import { cohere } from './cohere.ts'
import { deepinfra } from './deepinfra.ts'
import { deepseek } from './deepseek.ts'
import { dashscope } from './dashscope.ts'
import { fireworks } from './fireworks.ts'
import { gemini } from './gemini.ts'
import { groq } from './groq.ts'
import { huggingface } from './huggingface.ts'
import { llamaCpp } from './llama-cpp.ts'
import { lmStudio } from './lm-studio.ts'
import { mistral } from './mistral.ts'
import { nvidia } from './nvidia.ts'
import { ollama } from './ollama.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { perplexity } from './perplexity.ts'
import { plain } from './plain.ts'
import type { VendorProfile } from './profile.ts'
import { sglang } from './sglang.ts'
import { together } from './together.ts'
import { vertex } from './vertex.ts'
import { vllm } from './vllm.ts'
import { xai } from './xai.ts'

export const VENDOR_PROFILES: Record<VendorName, VendorProfile> = {
  anthropic,
  azure,
  bedrock,
  cerebras,
  cohere,
  deepinfra,
  deepseek,
  dashscope,
  fireworks,
  gemini,
  groq,
  huggingface,
  'llama.cpp': llamaCpp,
  'lm-studio': lmStudio,
  mistral,
  nvidia,
  ollama,
  openai,
  openrouter,
  perplexity,
  sglang,
  together,
  vertex,
  vllm,
  xai,
}

/** The profile of the vendor that the config names, else of the one whose address it is. */
export function profileOf({ vendor, url }: Pick<BackendConfig, 'vendor' | 'url'>): VendorProfile {
  const name = vendor ?? vendorByHost(url)
  return name === null ? plain : VENDOR_PROFILES[name]
}

/** Only the vendor that the config names decides how the router authenticates: a key goes nowhere by a guess. */
export function authenticationOf({ vendor }: Pick<BackendConfig, 'vendor'>): VendorProfile['authentication'] {
  return vendor === undefined ? plain.authentication : VENDOR_PROFILES[vendor].authentication
}
