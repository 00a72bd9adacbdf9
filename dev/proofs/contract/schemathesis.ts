/**
 * Finds Schemathesis, which tests a running server against its OpenAPI document. `SCHEMATHESIS` in the environment names it.
 * Otherwise it gets a Python environment of its own below `node_modules/.cache`, made once for each version.
 */

import { join } from 'node:path'
import { pythonWith } from '../../../scripts/python.ts'

/** Published 2026; its checks grow with its versions, so a new one is taken on purpose. */
const VERSION = '4.32.5'

export async function findSchemathesis(): Promise<string> {
  const named = process.env['SCHEMATHESIS']
  if (named) return named
  const programs = await pythonWith({
    folder: `schemathesis-${VERSION}`,
    packages: [`schemathesis==${VERSION}`],
    notice: `installing Schemathesis ${VERSION} from PyPI`,
  })
  return join(programs, 'schemathesis')
}
