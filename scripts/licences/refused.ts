/** Which licences the project's packages may have. */

interface Package {
  name: string
  version: string
  /** An SPDX expression. */
  license?: string
  /** The form in old packages. */
  licenses?: { type: string }[]
}

const ALLOWED = new Set([
  ...['MIT', 'Apache-2.0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0', 'Unlicense', 'CC0-1.0'],
  'MIT-0',
  // Fonts, which the console ships as they are.
  'OFL-1.1',
])

/** Weak copyleft binds changes of the package itself: fine for tools that we neither change nor ship. */
const TOOLS_ONLY: Record<string, string[]> = {
  'MPL-2.0': ['axe-core', 'lightningcss'],
}

/** One line for each package whose licence is not allowed, or that has none. */
export function refusedLicences(packages: readonly Package[]): string[] {
  return packages.flatMap((each) => {
    const licence = each.license ?? each.licenses?.map(({ type }) => type).join(' AND ') ?? ''
    if (isAllowed(licence, each.name)) return []
    return [
      `${each.name}@${each.version}: ${licence || 'no licence'} is not one that scripts/licences/refused.ts allows`,
    ]
  })
}

/** `A AND B`: both; `A OR B`: ours to choose. */
function isAllowed(expression: string, name: string): boolean {
  const terms = expression.replaceAll(/[()]/g, '').split(' OR ')
  return terms.some((term) => term.split(' AND ').every((licence) => ALLOWED.has(licence) || isTool(licence, name)))
}

function isTool(licence: string, name: string): boolean {
  return (TOOLS_ONLY[licence] ?? []).some((tool) => name === tool || name.startsWith(`${tool}-`))
}
