/**
 * The processes of the gateway with the config revision that each one runs, and how many live processes did not reply.
 *
 * Routers are counted by their signs of life. Of another service the edge knows no number, so it counts as one where no process of
 * it replied.
 */

import type { ListedRevision } from '@gateway/contracts/administration/ours'
import type { ConfigView } from '@gateway/contracts/config-api'
import type { ShowRoutersReply } from '@gateway/contracts/routers-api'

const EXPECTED = ['edge', 'keys', 'metering']

/** `routers`: null where no router replied. */
export function listRevisions(
  routers: ShowRoutersReply | null,
  views: readonly ConfigView[],
): { processes: ListedRevision[]; silent: number } {
  const shown = routers?.routers ?? []
  const ofRouters = shown.map(({ router, host, pid, configRevision: revision }): ListedRevision => {
    return { service: 'router', process: router, host, pid, revision }
  })
  const missing = EXPECTED.filter((service) => !views.some((view) => view.service === service))
  return {
    processes: [...views, ...ofRouters].toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)),
    silent: missing.length + (routers === null ? 1 : routers.alive - shown.length),
  }
}

function nameOf({ service, process }: ListedRevision): string {
  return `${service} ${process}`
}
