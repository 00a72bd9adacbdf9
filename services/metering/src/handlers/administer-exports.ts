/**
 * Calls of the administration API on exports. The edge has had keys authorize the caller, and keys has audited the request.
 */

import { type Input, type OperationsOf, operations, type Output } from '@gateway/contracts/administration/operations'
import { readInput } from '@gateway/contracts/administration/read-input'
import { GatewayError } from '@gateway/contracts/errors'
import type { ExportConfig } from '@gateway/contracts/exports'
import type { MeteringDatabase } from '../db/tables.ts'
import { readExports, requestRun } from '../exports/read-exports.ts'

interface Context {
  database: MeteringDatabase
  now(): number
  /** Of the running config. */
  exports(): readonly ExportConfig[]
}

type ExportOperation = Extract<OperationsOf<'metering'>, `exports.${string}`>
type Handlers = { [Name in ExportOperation]: (context: Context, input: Input<Name>) => Promise<Output<Name>> }

const handlers: Handlers = {
  'exports.list': async ({ database, now, exports }) => {
    return { object: 'list', data: await readExports(database, exports(), now()) }
  },

  'exports.run': async ({ database, now, exports }, { export_id: id }) => {
    const config = expectExport(exports, id)
    if (!(await requestRun(database, id))) throw new GatewayError('CONFLICT', `The export ${id} has not begun yet`)
    return (await readExports(database, [config], now()))[0]!
  },
}

/** Throws the refusal of a run of an unknown export, and runs none. */
export function checkExportRun({ exports }: Pick<Context, 'exports'>, input: Record<string, unknown>): void {
  expectExport(exports, readInput(operations['exports.run'], input)['export_id'] as string)
}

function expectExport(exports: Context['exports'], id: string): ExportConfig {
  const config = exports().find((each) => each.id === id)
  if (!config) throw new GatewayError('NOT_FOUND', `The config has no export ${id}`)
  return config
}

export function isOfExports(operation: string): operation is ExportOperation {
  return Object.hasOwn(handlers, operation)
}

export function administerExports(context: Context, operation: ExportOperation, input: unknown): Promise<unknown> {
  const handler = handlers[operation] as (context: Context, input: unknown) => Promise<unknown>
  return handler(context, readInput(operations[operation], input as Record<string, unknown>))
}
