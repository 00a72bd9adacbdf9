/** Amazon Bedrock, at its address that is compatible with OpenAI's. */

import { namesIn } from '../core/strip-parameters.ts'
import type { VendorProfile } from './profile.ts'
import type { BackendConfig } from '@gateway/contracts/config'
import { ConfigError } from '@gateway/config/config-error'
import { CHAT, effortsByName, rejectedByName, TIERS } from './openai.ts'

export const bedrock: VendorProfile = {
  name: 'bedrock',
  authentication: {
    identity: {
      load(backend, environment) {
        const region = regionOf(backend, environment)
        return async () => (await import('../credentials/aws.ts')).openCredential({ region })
      },
      advice: 'set AWS_* variables or a profile, or run this router under a role',
    },
  },
  rejectedParameters: rejectedByName,
  efforts: effortsByName,
  parameters: { chat: () => CHAT, control: namesIn('guardrailConfig') },
  pricedOptions: { service_tier: TIERS, web_search_options: {} },
  toolCalls: {},
  messages: { order: 'alternating', takesReasoning: false },
  usage: {},
  errors: {
    account: [
      // All with 400: docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html, November 2026.
      { is: 'credential', code: 'IncompleteSignature' },
      { is: 'credential', code: 'NotAuthorized' },
      { is: 'credential', code: 'AccessDeniedException' },
      { is: 'credential', code: 'UnrecognizedClientException' },
      { is: 'credential', code: 'ExpiredTokenException' },
      // github.com/earendil-works/pi/issues/4993 (2026-05-25).
      { is: 'no_model', sentence: /^The provided model identifier is invalid\b/ },
    ],
  },
}

/** From the address, as AWS writes it, or from the environment. */
function regionOf({ id, url }: BackendConfig, environment: NodeJS.ProcessEnv): string {
  const inHost = /\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:amazonaws\.com|api\.aws)/.exec(new URL(url).hostname)?.[1]
  const region = inHost ?? environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION']
  if (region) return region
  const message =
    'names no AWS region: use an address such as https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1, or set AWS_REGION'
  throw new ConfigError(`backend ${id}`, [{ field: 'url', message }])
}
