/**
 * Azure: tokens of Microsoft Entra ID. The library's standard chain finds an identity: a service principal in
 * `AZURE_*`, a workload identity, a managed identity, or the command line's login.
 */

import { DefaultAzureCredential } from '@azure/identity'
import { bearerTokens, type Credential } from './credential.ts'

/** learn.microsoft.com/azure/ai-services/openai/how-to/managed-identity, read in November 2026. */
const SCOPE = 'https://cognitiveservices.azure.com/.default'

/** The library's object keeps its token, so each token comes by a new one. Those of managed identities it keeps even so. */
export function openCredential(): Credential {
  return bearerTokens(async () => {
    const { token, expiresOnTimestamp } = await new DefaultAzureCredential().getToken(SCOPE)
    return { value: token, expiresAtMs: expiresOnTimestamp }
  })
}
