/** Writes the lists of words as the classifier reads them. Run it before `train.ts`: features depend on them. */

import { packWords } from './pack-words.ts'
import { writePacked } from './write-packed.ts'

const words = packWords()
const bytes = writePacked('words.json.br', words)
console.log(`${Object.keys(words.lists).length} languages, ${(bytes / 1024).toFixed(0)} KiB of words`)
