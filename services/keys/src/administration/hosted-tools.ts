/**
 * The hosted tools that requests of a project may name. A new project has none.
 */

import {
  type HostedToolPermissions,
  type PermissibleTool,
  permissibleTools,
} from '@gateway/contracts/administration/limits'
import { type HostedTool, hostedTools } from '@gateway/contracts/hosted-tools'
import type { AdministrationHandlers } from './call.ts'
import { changeLimits, limitsOf, updatedProject } from './change-limits.ts'
import { readProject } from './project-of-call.ts'

/** OpenAI's words, and those of the config. */
const TOOLS: Record<PermissibleTool, readonly HostedTool[]> = {
  code_interpreter: ['code_interpreter'],
  file_search: ['file_search'],
  image_generation: ['image_generation'],
  mcp: ['mcp'],
  web_search: ['web_search', 'web_fetch'],
}

export const hostedToolHandlers = {
  'hostedToolPermissions.retrieve': async (call, input) => {
    const project = await readProject(call, input)
    return view(project.kind === 'project' ? (await limitsOf(call, project)).hostedTools : hostedTools)
  },

  'hostedToolPermissions.update': async (call, input) => {
    const changed = await changeLimits(call, input, (held, { version }) => {
      const permitted = new Set(held.hostedTools)
      for (const tool of permissibleTools) {
        for (const name of TOOLS[tool]) {
          if (input[tool]?.enabled === true) permitted.add(name)
          if (input[tool]?.enabled === false) permitted.delete(name)
        }
      }
      const tools = [...permitted].toSorted()
      call.audit(updatedProject(input, { before: { hosted_tools: held.hostedTools }, after: { hosted_tools: tools } }))
      return { ...held, hostedTools: tools, policyVersion: version }
    })
    return view(changed.hostedTools)
  },
} satisfies Partial<AdministrationHandlers>

function view(permitted: readonly string[]): HostedToolPermissions {
  const entries = permissibleTools.map((tool) => [
    tool,
    { enabled: TOOLS[tool].every((name) => permitted.includes(name)) },
  ])
  return Object.fromEntries(entries) as HostedToolPermissions
}
