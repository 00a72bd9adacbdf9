/** Packs the file that `distil_meaning.py` wrote: `node training/auto/pack-meaning.ts <file>`. */

import { readFileSync } from 'node:fs'
import type { VocabularyFile } from '../../packages/auto/src/vocabulary.ts'
import { writePacked } from './write-packed.ts'

const path = process.argv[2]
if (path === undefined) throw new Error('usage: node training/auto/pack-meaning.ts <file of distil_meaning.py>')
const bytes = writePacked('meaning.json.br', JSON.parse(readFileSync(path, 'utf8')) as VocabularyFile)
console.log(`${(bytes / 1024).toFixed(0)} KiB`)
