/**
 * Explains a sign-in that failed: a title and advice for each cause.
 */

import { ErrorResponse, ErrorTimeout } from 'oidc-client-ts'
import type { Problem } from '../core/explain-problem.ts'

export function explainSignIn(error: unknown): Problem {
  if (!window.isSecureContext) {
    return {
      title: 'This page needs a secure address',
      advice:
        'Browsers allow signing in over https, or at 127.0.0.1 and localhost. Open the console at such an address.',
      code: 'INSECURE',
      mayPass: false,
    }
  }
  if (error instanceof ErrorResponse) {
    return error.error === 'access_denied'
      ? { title: 'You did not sign in', advice: 'Try again when you want to.', code: error.error, mayPass: true }
      : {
          title: 'The identity provider refused to sign you in',
          advice: `It says: ${error.error_description ?? error.error}. If that happens again, contact your operator.`,
          code: error.error ?? 'REFUSED',
          mayPass: true,
        }
  }
  const message = error instanceof Error ? error.message : ''
  if (/state/i.test(message)) {
    return {
      title: 'This sign-in is no longer valid',
      advice: 'It was begun in another tab, or too long ago. Sign in again.',
      code: 'STALE',
      mayPass: true,
    }
  }
  if (error instanceof TypeError || error instanceof ErrorTimeout) {
    return {
      title: 'The identity provider cannot be reached',
      advice:
        'Check your connection and try again. If it is fine, contact your operator: the provider is away, or does not allow this page to call it (CORS).',
      code: 'UNREACHABLE',
      mayPass: true,
    }
  }
  return {
    title: 'The identity provider sent a response that this page does not understand',
    advice: `Try again in a moment. If that happens again, contact your operator: ${message}.`,
    code: 'UNREADABLE',
    mayPass: true,
  }
}
