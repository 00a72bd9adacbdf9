/**
 * Serves the route table: each request takes the first steps, and then those of its row.
 */

import type { RequestListener } from 'node:http'
import express from 'express'
import { allowBrowsers } from './allow-browsers.ts'
import type { Edge } from '../edge.ts'
import { beginRequest } from './begin-request.ts'
import { refuseAmbiguous, refuseReboundNames } from './refuse-by-form.ts'
import { methodNotAllowed, notFound, renderErrors } from './render-errors.ts'
import type { Method } from '../reference/api-reference.ts'
import { stepsOf, type Route, type Routes } from './route.ts'
import { takeSteps, type Step } from './take-steps.ts'

export function createApp(edge: Edge, routes: Routes): RequestListener {
  const first: Step[] = [
    beginRequest(edge),
    refuseAmbiguous,
    ...refuseReboundNames(edge.settings),
    ...allowBrowsers(edge.settings.corsOrigins),
  ]
  const fail = renderErrors(edge)

  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  // A rule of a proxy in front for /v1/keys must hold for /V1/Keys, which is nothing.
  app.set('case sensitive routing', true)
  app.set('trust proxy', edge.settings.trustProxy)
  app.use(...first)

  // Nearly every request asks a model, and takes its steps without asking Express for the way. Express knows them, too: a path
  // may come with a query, and each has other methods.
  const ways = new Map<string, RequestListener>()
  for (const [path, methods] of Object.entries(routes)) {
    const onPath = app.route(path)
    for (const [method, route] of Object.entries(methods) as [Method, Route][]) {
      const steps = stepsOf(edge, route)
      onPath[method === 'GET' ? 'get' : 'post'](...steps)
      if ('asks' in route && method === 'POST') ways.set(path, takeSteps(path, [...first, ...steps], fail))
    }
    onPath.all(methodNotAllowed(Object.keys(methods).toSorted()))
  }
  app.use(notFound(Object.keys(routes)))
  app.use(fail)

  return (request, response) => {
    const way = request.method === 'POST' ? ways.get(request.url!) : undefined
    if (way) way(request, response)
    else app(request, response)
  }
}
