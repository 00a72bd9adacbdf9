/**
 * A gateway with its backend and the load generator, as every scale curve but the ledger's uses them.
 */

import { startBackend, type Backend } from '../harness/backend.ts'
import { costed } from '../harness/costs.ts'
import { runLoad, type Endpoint, type LoadOptions, type LoadResult, type Order } from '../harness/load.ts'
import { compileNative } from '../harness/native.ts'
import { launchGateway, type GatewayOptions, type LaunchedGateway } from '../subjects/gateway.ts'

export interface Rig extends AsyncDisposable {
  gateway: LaunchedGateway
  backend: Backend
  run(order: Order, options: LoadOptions, endpoint?: Endpoint): Promise<LoadResult>
  /** With the CPU milliseconds by process, per piece that `countOf` counts. */
  costedRun(
    order: Order,
    options: LoadOptions,
    countOf: (load: LoadResult) => number,
    endpoint?: Endpoint,
  ): Promise<{ load: LoadResult; cpuMs: Record<string, number> }>
}

/** Not one request of a load got a whole response. */
export class AllFailedError extends Error {
  override name = 'AllFailedError'
}

export const PLAIN: Order = { stream: false, bytes: 700 }

export async function openRig(signal: AbortSignal, options: GatewayOptions = {}): Promise<Rig> {
  await using opening = new AsyncDisposableStack()
  const programs = await compileNative()
  const backend = opening.use(await startBackend(programs.backend))
  const gateway = opening.use(await launchGateway(backend.port, options))
  const opened = opening.move()
  const run = async (order: Order, load: LoadOptions, endpoint = gateway.endpoint) => {
    const result = await runLoad(programs.load, endpoint, order, { ...load, signal })
    if (result.failed > 0 && result.failed >= result.requests) throw new AllFailedError(result.firstFailure)
    return result
  }
  return {
    gateway,
    backend,
    run,
    async costedRun(order, load, countOf, endpoint) {
      const { result, cpuMs } = await costed(gateway.processes(), () => run(order, load, endpoint), countOf, signal)
      return { load: result, cpuMs }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The sum over the processes whose name begins so: `edge` takes in edge-1 and edge-2. */
export function sumOf(byProcess: Record<string, number>, kind = ''): number {
  return Object.entries(byProcess).reduce((sum, [name, value]) => (name.startsWith(kind) ? sum + value : sum), 0)
}
