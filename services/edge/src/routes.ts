/**
 * The table of all routes. Express' routes, the direct path of inference, the 405s and the API reference follow from it.
 */

import { RECEIPT_KEYS_PATH } from '@gateway/contracts/receipts'
import { TOP_UPS_PATH } from '@gateway/contracts/top-ups'
import { CONSOLE_PATH, type EdgeSettings } from './config.ts'
import { compact } from './requests/compact.ts'
import { chat, embeddings, images } from './requests/inference-kinds.ts'
import { messages } from './requests/messages.ts'
import { responses } from './requests/responses.ts'
import { administrationReference } from './administration/reference.ts'
import type { Operation } from './reference/api-reference.ts'
import { operations, type OperationId } from './reference/operations.ts'
import type { Route } from './create-app.ts'
import type { Method } from './reference/api-reference.ts'
import { countPromptTokens } from './inference/count-tokens.ts'
import {
  listDeveloperKeys,
  mintDeveloperKey,
  revokeDeveloperKey,
  rotateDeveloperKey,
} from './accounts/developer-keys.ts'
import { listModels, showCatalog, showModel } from './catalog/list-models.ts'
import { mintGuestKey } from './accounts/mint-guest-key.ts'
import { receiveTopUp } from './accounts/receive-top-up.ts'
import { quote } from './inference/quote.ts'
import { showConsole, showConsoleConfig } from './console/show-console.ts'
import { showPlan, showQuota, showUsage } from './accounts/show-account.ts'
import { showReceiptKeys } from './receipts/show-receipt-keys.ts'
import { showHello, showStart } from './console/show-start.ts'
import { connectResponses } from './websocket/connect-responses.ts'
import { RESPONSES_PATH } from './websocket/turn-response.ts'
import { showOpenApi, showReference, showReferenceStyles, STYLESHEET } from './reference/show-reference.ts'

type Page = Extract<Route, { credential: 'none' }>
type DocumentedRoutes = Record<string, Partial<Record<Method, Route & { doc: OperationId }>>>

export const routes = {
  '/v1/chat/completions': { POST: { credential: 'key at admission', kind: chat, doc: 'createChatCompletion' } },
  [RESPONSES_PATH]: {
    POST: { credential: 'key at admission', kind: responses, doc: 'createResponse' },
    GET: { credential: 'key', handle: connectResponses, doc: 'connectResponses' },
  },
  '/v1/responses/compact': { POST: { credential: 'key at admission', kind: compact, doc: 'compactResponse' } },
  '/v1/messages': { POST: { credential: 'key at admission', kind: messages, doc: 'createMessage' } },
  '/v1/messages/count_tokens': {
    POST: { credential: 'key', body: 'large', handle: countPromptTokens, doc: 'countTokens' },
  },
  '/v1/embeddings': { POST: { credential: 'key at admission', kind: embeddings, doc: 'createEmbeddings' } },
  '/v1/images/generations': { POST: { credential: 'key at admission', kind: images, doc: 'createImage' } },
  '/v1/quote': { POST: { credential: 'key', body: 'large', handle: quote, doc: 'quote' } },

  '/v1/models': { GET: { credential: 'none', handle: listModels, doc: 'listModels' } },
  '/v1/models/*id': { GET: { credential: 'none', handle: showModel, doc: 'showModel' } },
  '/v1/catalog': { GET: { credential: 'none', handle: showCatalog, doc: 'showCatalog' } },

  '/billing/quota': { GET: { credential: 'key', handle: showQuota, doc: 'showQuota' } },
  [TOP_UPS_PATH]: { POST: { credential: 'signature', handle: receiveTopUp, doc: 'receiveTopUp' } },
  '/v1/plan': { GET: { credential: 'key', handle: showPlan, doc: 'showPlan' } },
  '/v1/usage': { GET: { credential: 'account', handle: showUsage, doc: 'showUsage' } },

  '/v1/keys/developer': {
    POST: { credential: 'sign-in', body: 'small', handle: mintDeveloperKey, doc: 'mintDeveloperKey' },
    GET: { credential: 'sign-in', handle: listDeveloperKeys, doc: 'listDeveloperKeys' },
  },
  '/v1/keys/developer/rotate': {
    POST: { credential: 'sign-in', body: 'small', handle: rotateDeveloperKey, doc: 'rotateDeveloperKey' },
  },
  '/v1/keys/developer/revoke': {
    POST: { credential: 'sign-in', body: 'small', handle: revokeDeveloperKey, doc: 'revokeDeveloperKey' },
  },
  '/v1/keys/guest': { POST: { credential: 'none', body: 'small', handle: mintGuestKey, doc: 'mintGuestKey' } },
} satisfies DocumentedRoutes

/** The API reference, in the order of the table. */
export const reference: Operation[] = Object.entries<DocumentedRoutes[string]>(routes).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { doc, credential }]) => ({
    ...operations[doc],
    id: doc,
    method: method as Method,
    path: path.replace(/\*(\w+)/g, '{$1}'),
    credential,
  })),
)

/** With the administration API, whose routes follow from another table. */
export const fullReference: Operation[] = [...reference, ...administrationReference]

/** Pages for browsers. */
export function pages(settings: EdgeSettings): Record<string, { GET: Page }> {
  const { console } = settings
  return {
    '/': { GET: { credential: 'none', handle: () => showStart(settings) } },
    [RECEIPT_KEYS_PATH]: { GET: { credential: 'none', handle: showReceiptKeys } },
    '/api/hello': { GET: { credential: 'none', handle: () => showHello } },
    '/openapi.json': { GET: { credential: 'none', handle: () => showOpenApi(settings, fullReference) } },
    '/docs': { GET: { credential: 'none', handle: () => showReference(settings, fullReference) } },
    [STYLESHEET]: { GET: { credential: 'none', handle: () => showReferenceStyles } },
    ...(console && {
      [`${CONSOLE_PATH}/config.json`]: {
        GET: { credential: 'none', handle: () => showConsoleConfig(settings, console) },
      },
      [`${CONSOLE_PATH}{/*path}`]: { GET: { credential: 'none', handle: () => showConsole(settings, console) } },
    }),
  }
}
