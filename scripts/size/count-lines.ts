/** Counts the lines of product code by room: sources of services and packages, without tests. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const SOURCES = '{services,packages}/*/src/**/*.{ts,tsx,mts,lua,sql,css}'
const NOT_PRODUCT = /\.test\.tsx?$|\/conformance\//

export function countLines(root: string): Map<string, { files: number; lines: number }> {
  const rooms = new Map<string, { files: number; lines: number }>()
  for (const path of globSync(SOURCES, { cwd: root }).sort()) {
    if (NOT_PRODUCT.test(path)) continue
    const room = path.split('/').slice(0, 2).join('/')
    const counted = rooms.get(room) ?? { files: 0, lines: 0 }
    counted.files += 1
    counted.lines += readFileSync(join(root, path), 'utf8').split('\n').length - 1
    rooms.set(room, counted)
  }
  return rooms
}
