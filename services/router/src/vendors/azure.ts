/** OpenAI's models at Microsoft, under the operator's own names of deployments. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import { CHAT, OPENAI_IDS, callsToolsByResponses, effortsByName, rejectedByName, TIERS } from './openai.ts'

export const azure: VendorProfile = {
  name: 'azure',
  authentication: {
    // learn.microsoft.com/azure/ai-services/openai/reference, "Authentication", read in November 2026.
    keyHeaders: (apiKey) => ({ 'api-key': apiKey }),
    identity: {
      load: () => async () => (await import('../credentials/entra.ts')).openCredential(),
      advice: 'give this router an identity of Entra ID (AZURE_* variables, a workload or managed identity)',
    },
  },
  rejectedParameters: rejectedByName,
  efforts: effortsByName,
  callsToolsByResponses,
  parameters: { chat: () => CHAT, control: namesIn('data_sources') },
  pricedOptions: { service_tier: TIERS, web_search_options: {} },
  toolCalls: { ids: OPENAI_IDS },
  messages: { order: 'any', takesReasoning: false },
  hostedTools: ['responses'],
  usage: {},
  // Gitlawb/openclaude#273, 2026-04-03.
  errors: { filtered: [/content management policy/] },
}
