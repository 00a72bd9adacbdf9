/** OpenAI's models at Microsoft, under the operator's own names of deployments. */

import type { VendorProfile } from './profile.ts'
import { OPENAI_IDS, rejectedByName } from './openai.ts'

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
  toolCalls: { ids: OPENAI_IDS },
  messages: { order: 'any', takesReasoning: false },
  hostedTools: ['responses'],
  usage: {},
}
