/**
 * Google: OAuth tokens by Application Default Credentials (a service account's file in `GOOGLE_APPLICATION_CREDENTIALS`,
 * a workload identity, the metadata server). A library's client keeps its token, so each token comes by a new client.
 */

import { GoogleAuth } from 'google-auth-library'
import { bearerTokens, type Credential } from './credential.ts'

/** cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/auth-and-credentials, read in November 2026. */
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
/** The backend's address names the real one. Without any, the library starts `gcloud` to find one, which takes seconds. */
const PROJECT = 'unused'
/** Where the response does not say; Google's tokens live for an hour. */
const USUAL_LIFE_MS = 3_600_000

export function openCredential(): Credential {
  const fetchImplementation: typeof fetch = (...request) => fetch(...request)
  const clientOptions = { transporterOptions: { fetchImplementation } }
  return bearerTokens(async () => {
    const auth = new GoogleAuth({ scopes: SCOPE, projectId: PROJECT, clientOptions })
    const client = await auth.getClient()
    const { token } = await client.getAccessToken()
    if (!token) throw new Error('Google answered without a token')
    return { value: token, expiresAtMs: client.credentials.expiry_date ?? Date.now() + USUAL_LIFE_MS }
  })
}
