/**
 * A request's journey through the edge, in order.
 */

import express, { type Express } from 'express'
import { allowBrowsers } from './allow-browsers.ts'
import { proveLargeSender, requireAccount, requireKey, requireSignIn } from './authenticate.ts'
import { CONSOLE_PATH } from './config.ts'
import type { Edge } from './edge.ts'
import { chat, embeddings, images } from './inference-kinds.ts'
import { measureRequest } from './measure-request.ts'
import { nameRequest } from './name-request.ts'
import { readJsonBody, readSmallJsonBody } from './read-json-body.ts'
import { refuseAmbiguous } from './refuse-ambiguous.ts'
import { methodNotAllowed, notFound, renderErrors } from './render-errors.ts'
import { listDeveloperKeys, mintDeveloperKey, revokeDeveloperKey, rotateDeveloperKey } from './routes/developer-keys.ts'
import { infer } from './routes/infer.ts'
import { listModels, showModel } from './routes/list-models.ts'
import { mintGuestKey } from './routes/mint-guest-key.ts'
import { showCatalog } from './routes/show-catalog.ts'
import { showConsole, showConsoleConfig } from './routes/show-console.ts'
import { showPlan } from './routes/show-plan.ts'
import { showOpenApi, showReference, showReferenceStyles, STYLESHEET } from './routes/show-reference.ts'
import { quote } from './routes/quote.ts'
import { showQuota } from './routes/show-quota.ts'
import { showUsage } from './routes/show-usage.ts'

export function createApp(edge: Edge): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  // A rule of a proxy in front for /v1/keys must hold for /V1/Keys, which is nothing.
  app.set('case sensitive routing', true)
  app.set('trust proxy', edge.settings.trustProxy)

  app.use(measureRequest(edge))
  app.use(nameRequest)
  app.use(refuseAmbiguous)
  app.use(allowBrowsers(edge.settings.corsOrigins))

  // First, because routes are tried in this order.
  const withKey = requireKey(edge)
  const readBody = [proveLargeSender(edge), ...readJsonBody]
  app.route('/v1/chat/completions').post(withKey, readBody, infer(edge, chat)).all(methodNotAllowed('POST'))
  app.route('/v1/embeddings').post(withKey, readBody, infer(edge, embeddings)).all(methodNotAllowed('POST'))
  app.route('/v1/images/generations').post(withKey, readBody, infer(edge, images)).all(methodNotAllowed('POST'))

  app.route('/v1/models').get(listModels(edge)).all(methodNotAllowed('GET'))
  app.route('/v1/models/*id').get(showModel(edge)).all(methodNotAllowed('GET'))
  app.route('/v1/catalog').get(showCatalog(edge)).all(methodNotAllowed('GET'))
  app.route('/v1/keys/guest').post(readSmallJsonBody, mintGuestKey(edge)).all(methodNotAllowed('POST'))
  const signedIn = requireSignIn(edge)
  app
    .route('/v1/keys/developer')
    .post(signedIn, mintDeveloperKey(edge))
    .get(signedIn, listDeveloperKeys(edge))
    .all(methodNotAllowed('GET', 'POST'))
  app
    .route('/v1/keys/developer/rotate')
    .post(signedIn, readSmallJsonBody, rotateDeveloperKey(edge))
    .all(methodNotAllowed('POST'))
  app
    .route('/v1/keys/developer/revoke')
    .post(signedIn, readSmallJsonBody, revokeDeveloperKey(edge))
    .all(methodNotAllowed('POST'))

  app.route('/v1/usage').get(requireAccount(edge), showUsage(edge)).all(methodNotAllowed('GET'))
  app.route('/billing/quota').get(withKey, showQuota(edge)).all(methodNotAllowed('GET'))
  app.route('/v1/quote').post(withKey, readBody, quote(edge)).all(methodNotAllowed('POST'))

  app.route('/v1/plan').get(withKey, showPlan(edge)).all(methodNotAllowed('GET'))

  app.route('/openapi.json').get(showOpenApi(edge.settings)).all(methodNotAllowed('GET'))
  app.route('/docs').get(showReference(edge.settings)).all(methodNotAllowed('GET'))
  app.route(STYLESHEET).get(showReferenceStyles).all(methodNotAllowed('GET'))

  const { console } = edge.settings
  if (console) {
    app.route(`${CONSOLE_PATH}/config.json`).get(showConsoleConfig(edge, console)).all(methodNotAllowed('GET'))
    app.route(`${CONSOLE_PATH}{/*path}`).get(showConsole(edge, console)).all(methodNotAllowed('GET'))
  }

  app.use(notFound)
  app.use(renderErrors(edge))
  return app
}
