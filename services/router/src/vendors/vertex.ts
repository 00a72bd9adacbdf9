/** Google's Vertex AI, at its address that is compatible with OpenAI's. */

import type { VendorProfile } from './profile.ts'
import { needsSignature } from './gemini.ts'
import { rejectedByName } from './openai.ts'

/** Written by `npm run schemas:write`: cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview, of google/ models, 2026-09-17. */
const ACCEPTED = new Set(
  'extra_body frequency_penalty function_call functions max_completion_tokens max_tokens messages modalities model n presence_penalty reasoning_effort response_format seed stop stream stream_options temperature tool_choice tools top_p web_search_options'.split(
    ' ',
  ),
)

export const vertex: VendorProfile = {
  name: 'vertex',
  authentication: {
    identity: {
      load: () => async () => (await import('../credentials/google.ts')).openCredential(),
      advice: 'set GOOGLE_APPLICATION_CREDENTIALS, or run this router under a service account',
    },
  },
  rejectedParameters: rejectedByName,
  // The list is of Google's own models there.
  acceptedParameters: (model) => (model.startsWith('google/') ? ACCEPTED : undefined),
  toolCalls: { needsSignature },
  messages: { order: 'alternating', takesReasoning: false },
  // cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples, 2026-02-11.
  usage: { countsReasoningInTotalAlone: true },
}
