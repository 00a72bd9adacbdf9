/**
 * Words that this code once used in a sense of its own. A reader knows the field's words, which stand beside them.
 * `npm run check` keeps the former ones out of names, comments, titles of tests and help.
 */

import type { Block } from './read-markdown.ts'
import { type Finding, wordsOf } from './judge-sentences.ts'

/** In prose and in names, each with the field's words. */
const EVERYWHERE = new Map([
  ['answer', 'response, respond, reply, return'],
  ['ask', 'request, call, query'],
  ['tell', 'report, notify, publish, state'],
  ['talk', 'rpc, procedure'],
  ['face', 'interface, port'],
  ['house', 'layout, project'],
  ['room', 'module, memory, capacity'],
  ['seat', 'slot'],
  ['pot', 'memory budget'],
  ['course', 'failover state'],
  ['suspect', 'pending failure'],
  ['wish', 'option, request'],
  ['lesson', 'learned rejection'],
  ['teachable', 'learnable'],
  ['patience', 'timeout'],
  ['fleet', 'backends, backend registry'],
  ['passage', 'window, stream'],
  ['blame', 'failure, attribute'],
  ['strike', 'inject a fault'],
  ['excuse', 'allowance'],
  ['cue', 'feature'],
  ['exam', 'evaluation set'],
  ['intake', 'load shedder, subscription'],
  ['redispatch', 'dispatch again, retry'],
  ['anew', 'again'],
  ['tidy', 'clean up'],
])

/** In names alone: in prose they are plain English. */
const IN_NAMES = new Map([
  ['standing', 'quota status'],
  ['trial', 'half-open'],
  ['whole', 'complete'],
  ['front', 'client adapter'],
  ['flight', 'send window (`inFlight` may stay)'],
  ['lean', 'cost preference'],
  ['heard', 'seen, received'],
  ['news', 'event'],
])

const FORMS = new Map([
  ['answers', 'answer'],
  ['answered', 'answer'],
  ['answering', 'answer'],
  ['unanswered', 'answer'],
  ['asks', 'ask'],
  ['asked', 'ask'],
  ['asking', 'ask'],
  ['unasked', 'ask'],
  ['asker', 'ask'],
  ['tells', 'tell'],
  ['told', 'tell'],
  ['telling', 'tell'],
  ['untold', 'tell'],
  ['talks', 'talk'],
  ['talker', 'talk'],
  ['faces', 'face'],
  ['rooms', 'room'],
  ['seats', 'seat'],
  ['pots', 'pot'],
  ['courses', 'course'],
  ['suspects', 'suspect'],
  ['suspected', 'suspect'],
  ['wishes', 'wish'],
  ['lessons', 'lesson'],
  ['patient', 'patience'],
  ['fleets', 'fleet'],
  ['blames', 'blame'],
  ['blamed', 'blame'],
  ['strikes', 'strike'],
  ['struck', 'strike'],
  ['excuses', 'excuse'],
  ['excused', 'excuse'],
  ['cues', 'cue'],
  ['exams', 'exam'],
  ['tidies', 'tidy'],
  ['trials', 'trial'],
  ['fronts', 'front'],
])

const formOf = (word: string): string => FORMS.get(word) ?? word

export function findRetiredInProse(block: Block): Finding[] {
  // A vendor has this name.
  return wordsOf(block.text.replaceAll('Hugging Face', '')).flatMap((raw) => {
    const word = formOf(raw.toLowerCase().replaceAll(/^[^a-z]+|(?:['’]s)?[^a-z]*$/g, ''))
    const instead = EVERYWHERE.get(word)
    return instead === undefined
      ? []
      : [{ line: block.line, problem: `"${raw}" is retired: ${instead}`, sentence: block.text }]
  })
}

/** The words of a name, as its capitals and underscores part them. */
export function findRetiredInName({ line, word: name }: { line: number; word: string }): Finding[] {
  const words = name
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[\s_$]+/)
  return words.flatMap((raw, at) => {
    const word = formOf(raw)
    if (word === 'flight' && words[at - 1] === 'in') return []
    const instead = EVERYWHERE.get(word) ?? IN_NAMES.get(word)
    return instead === undefined ? [] : [{ line, problem: `"${raw}" in a name is retired: ${instead}`, sentence: name }]
  })
}
