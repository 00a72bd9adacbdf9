/**
 * A vendor with an address of its own that speaks OpenAI's chat completions. Its file holds only its differences from
 * the others.
 */

import type { VendorName } from '@gateway/contracts/vendors'
import { effortsByName, rejectedByName } from './openai.ts'
import type { VendorProfile } from './profile.ts'

export function hostedVendor(name: VendorName, own: Partial<VendorProfile>): VendorProfile {
  return {
    name,
    authentication: {},
    rejectedParameters: rejectedByName,
    efforts: effortsByName,
    parameters: { chat: () => undefined, control: new Set() },
    pricedOptions: {},
    toolCalls: {},
    messages: { order: 'alternating', takesReasoning: false },
    usage: {},
    ...own,
  }
}
