/**
 * A request's journey through the edge, in order.
 */

import type { RequestListener } from 'node:http'
import express from 'express'
import { allowBrowsers } from './allow-browsers.ts'
import { requireAccount, requireKey, requireSignIn } from './authenticate.ts'
import { CONSOLE_PATH } from './config.ts'
import type { Edge } from './edge.ts'
import { chat, embeddings, images, type InferenceKind } from './inference-kinds.ts'
import { refuseWhileLate } from './intake.ts'
import { makeRoom } from './make-room.ts'
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
import { walk, type Step } from './walk.ts'

export function createApp(edge: Edge): RequestListener {
  const first: Step[] = [measureRequest(edge), nameRequest, refuseAmbiguous, allowBrowsers(edge.settings.corsOrigins)]
  const withKey = requireKey(edge)
  const readBody = [makeRoom(edge), readJsonBody]
  const fail = renderErrors(edge)

  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  // A rule of a proxy in front for /v1/keys must hold for /V1/Keys, which is nothing.
  app.set('case sensitive routing', true)
  app.set('trust proxy', edge.settings.trustProxy)

  app.use(...first)
  // Nearly every request is one of these, and walks its steps without asking a router for the way. Express knows them, too:
  // a path may come with a query, and each has other methods.
  const ways = new Map<string, RequestListener>()
  const serve = (path: string, kind: InferenceKind): void => {
    const steps = [refuseWhileLate(edge), withKey, ...readBody, infer(edge, kind)]
    ways.set(path, walk(path, [...first, ...steps], fail))
    app
      .route(path)
      .post(...steps)
      .all(methodNotAllowed('POST'))
  }
  serve('/v1/chat/completions', chat)
  serve('/v1/embeddings', embeddings)
  serve('/v1/images/generations', images)

  app.route('/v1/models').get(listModels(edge)).all(methodNotAllowed('GET'))
  app.route('/v1/models/*id').get(showModel(edge)).all(methodNotAllowed('GET'))
  app.route('/v1/catalog').get(showCatalog(edge)).all(methodNotAllowed('GET'))
  app.route('/v1/keys/guest').post(readSmallJsonBody, mintGuestKey(edge)).all(methodNotAllowed('POST'))
  const signedIn = requireSignIn(edge)
  app
    .route('/v1/keys/developer')
    .post(signedIn, readSmallJsonBody, mintDeveloperKey(edge))
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
  app.use(fail)

  return (request, response) => {
    const way = request.method === 'POST' ? ways.get(request.url!) : undefined
    if (way) way(request, response)
    else app(request, response)
  }
}
