/**
 * The routes of the administration API, made of the rows of its table.
 */

import type { Operation } from '@gateway/contracts/administration/operation'
import { type OperationName, operations } from '@gateway/contracts/administration/operations'
import type { Route, Routes } from '../create-app.ts'
import { serveOperation } from './serve-operation.ts'

/** `/v1/organization/projects/{project_id}` is `/v1/organization/projects/:project_id` for Express. */
function expressPath({ path }: Operation): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

export const administrationRoutes: Routes = Object.entries<Operation>(operations).reduce<Routes>(
  (routes, [name, row]) => {
    const body = row.isYaml ? 'yaml' : 'small'
    const route: Route = { credential: 'administrator', body, handle: serveOperation(name as OperationName) }
    const path = expressPath(row)
    return { ...routes, [path]: { ...routes[path], [row.method]: route } }
  },
  {},
)
