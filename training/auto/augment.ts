/**
 * Augments the given examples: the same request behind chit-chat or a back-story, in a later turn, without punctuation,
 * or mistyped. Some get a word that seems to name another lane. Chit-chat alone is added too. The label stays, so the
 * model learns that these do not matter.
 */

import type { ChatMessage } from '@gateway/contracts/chat'
import { LANES } from '../../packages/auto/src/lanes.ts'
import { mulberry32 } from './fit.ts'
import { responseTo } from './answers.ts'
import { FOLLOW_UPS, REPLIES } from './follow-ups.ts'
import type { Prompt } from './prompts.ts'

/** Stories that people add to a request, by language. */
const TALES: Record<string, string[]> = {
  en: [
    'We moved house last month and half the boxes are still shut.',
    'My coffee went cold while I waited for the plumber.',
    'The kids built a fort out of every cushion we own.',
    'I ran into an old friend at the bakery.',
    'It has been windy all week.',
    'My aunt sent a huge parcel of jam.',
    'I slept badly and missed the first tram.',
    'Our team finally shipped the release and everyone was exhausted.',
    'Someone left a piano on our street.',
    'I painted the kitchen yellow.',
    'The exam went fine, I think.',
    'My phone fell into the sink.',
    'So I have been thinking.',
    'My boss is on holiday, so the office is quiet.',
    'The dog barked at the postman again.',
    'I burnt the toast twice today.',
    'I spent the night debugging a python script.',
    'My javascript class was long and dull.',
    'The weather was lovely today.',
    'I read the news this morning.',
    'Our maths teacher proved a theorem for an hour.',
    'My code finally runs.',
    'Prices at the market went up again this week.',
    'I wrote my essay by hand.',
  ],
  de: [
    'Wir sind letzten Monat umgezogen.',
    'Mein Kaffee ist schon wieder kalt.',
    'Die Kinder haben aus allen Kissen eine Höhle gebaut.',
    'Ich habe schlecht geschlafen und die Bahn verpasst.',
    'Meine Tante hat ein Paket mit Marmelade geschickt.',
    'Draußen stürmt es seit Tagen.',
    'Heute war das Wetter herrlich.',
    'Mein Code läuft endlich.',
    'Der Matheunterricht war lang.',
  ],
  fr: [
    'On a déménagé le mois dernier.',
    'Mon café a encore refroidi.',
    'Les enfants ont bâti une cabane avec tous les coussins.',
    "J'ai mal dormi et raté le premier bus.",
    "Ma tante m'a envoyé un colis de confitures.",
    "Il a fait un temps superbe aujourd'hui.",
    'Mon cours de Python était interminable.',
  ],
  es: [
    'Nos mudamos el mes pasado.',
    'El café se me enfrió otra vez.',
    'Los niños hicieron un fuerte con los cojines.',
    'Dormí mal y perdí el primer autobús.',
    'Mi tía me mandó una caja de mermelada.',
    'Hoy hizo un tiempo precioso.',
    'La clase de Java fue aburridísima.',
  ],
  pt: ['A gente se mudou no mês passado.', 'Meu café esfriou de novo.', 'Dormi mal e perdi o ônibus.'],
  it: [
    'Ci siamo trasferiti il mese scorso.',
    'Il caffè si è raffreddato di nuovo.',
    'Ho dormito male e ho perso il tram.',
  ],
  ru: ['Мы переехали в прошлом месяце.', 'Мой кофе опять остыл.', 'Я плохо спал и опоздал на автобус.'],
  zh: [
    '我们上个月搬了家。',
    '我的咖啡又凉了。',
    '孩子们用靠垫搭了个城堡。',
    '昨晚没睡好，错过了早班车。',
    '阿姨寄来一大箱果酱。',
    '今天天气真好。',
    '昨晚改代码改到三点。',
  ],
  ja: [
    '先月引っ越しました。',
    'コーヒーがまた冷めてしまいました。',
    '子どもたちがクッションで秘密基地を作りました。',
    'よく眠れなくてバスに乗り遅れました。',
    '今日はいい天気でした。',
    '昨日は遅くまでコードを書いていました。',
  ],
  ko: ['지난달에 이사했어요.', '커피가 또 식었네요.', '잠을 못 자서 버스를 놓쳤어요.'],
  hi: [
    'हम पिछले महीने नए घर में आए।',
    'मेरी चाय फिर ठंडी हो गई।',
    'रात नींद नहीं आई और बस छूट गई।',
    'मौसी ने मुरब्बे का डिब्बा भेजा।',
    'आज मौसम बहुत अच्छा था।',
    'रात भर कोड लिखता रहा।',
  ],
}
const OPENINGS: Record<string, string[]> = {
  en: [
    'hi, ',
    'hey! ',
    'ok. ',
    'thanks! ',
    'please ',
    'quick one: ',
    'cool, next: ',
    'anyway, ',
    'so ',
    'great. now ',
    'hello, could you help me? ',
    'one more thing: ',
  ],
  de: ['hallo, ', 'danke! ', 'ok, ', 'noch was: '],
  fr: ['bonjour, ', 'merci ! ', 'ok, '],
  es: ['hola, ', '¡gracias! ', 'vale, '],
  zh: ['你好，', '谢谢！', '好的，'],
  ja: ['こんにちは。', 'ありがとう。', 'では、'],
  hi: ['नमस्ते, ', 'धन्यवाद! '],
  ko: ['안녕하세요. ', '고마워요. '],
  ru: ['привет, ', 'спасибо! '],
}
const ENDINGS = [' thanks', ' Thank you!', ' please', ' thx', ' Thanks in advance.']
/** The share of assistant turns that are of another kind than the user's turn before. */
const STRAY_SHARE = 0.15
/** Words that seem to name a lane; in another lane's request they are only its subject. */
const LURES = [
  'python',
  'javascript',
  'java',
  'rust',
  'compiler',
  'function',
  'class',
  'algorithm',
  'database',
  'code',
  'script',
  'docker',
  'sql',
  'theorem',
  'news',
  'weather',
  'market',
  'today',
  'source',
]
const LURE_SHARE = 0.1
const FOLLOW_SHARE = 0.12
const CLOSERS = [
  '',
  ' Anyway.',
  ' That was my day.',
  ' How was yours?',
  ' Just wanted to tell someone.',
  ' Nothing else to report.',
]

export function augment(prompts: readonly Prompt[], seed: number): Prompt[] {
  const random = mulberry32(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const some = (list: readonly string[], most: number): string =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(list)).join(' ')
  const singles = prompts.filter((prompt) => prompt.messages.length === 1)
  const withReply = ({ lane, messages }: Prompt): ChatMessage[] => [
    ...messages,
    { role: 'assistant', content: responseTo(random() < STRAY_SHARE ? pick(LANES) : lane, random) },
  ]

  const twist = (prompt: Prompt): Prompt => {
    const last = lastText(prompt)
    const tales = TALES[prompt.lang] ?? TALES['en']!
    const dice = random()
    if (dice < 0.3) return withLast(prompt, `${some(tales, 4)} ${last}`)
    if (dice < 0.45) return withLast(prompt, `${pick(OPENINGS[prompt.lang] ?? OPENINGS['en']!)}${last}`)
    if (dice < 0.6) return withLast(prompt, last.toLowerCase().replace(/[.?!。？！]+\s*$/, ''))
    if (dice < 0.66) return withLast(prompt, `${last}${pick(ENDINGS)}`)
    if (dice < 0.76) return withLast(prompt, mistype(last, random))
    if (prompt.messages.length > 1) return withLast(prompt, last)
    return {
      ...prompt,
      messages: [...withReply(pick(singles)), ...prompt.messages],
    }
  }

  const lure = (prompt: Prompt): Prompt => {
    const words = lastText(prompt).split(' ')
    const at = words.findLastIndex((word) => /^[a-z]{4,}$/.test(word))
    return withLast(prompt, words.with(at < 0 ? words.length - 1 : at, pick(LURES)).join(' '))
  }

  const lured = prompts
    .filter(
      ({ lane, lang }) =>
        (lane === 'spark' || lane === 'nova') && (lang === 'en' || lang === '') && random() < LURE_SHARE,
    )
    .map(lure)
  const twisted = prompts.filter((prompt) => lastText(prompt).length < 1_500).map(twist)
  const tales: Prompt[] = Object.entries(TALES).flatMap(([lang, list]) =>
    Array.from({ length: 3 * list.length }, (_, index): Prompt => {
      const content = some(list, 5) + (lang === 'en' ? pick(CLOSERS) : '')
      return {
        id: `tale-${lang}-${index}`,
        messages: [{ role: 'user', content }],
        lane: 'spark',
        also: [],
        source: 'gateway/tales',
        lang,
      }
    }),
  )
  const followed = singles
    .filter(() => random() < FOLLOW_SHARE)
    .map((prompt): Prompt => {
      const content = pick(FOLLOW_UPS[prompt.lane] ?? REPLIES)
      return {
        ...prompt,
        messages: [...withReply(prompt), { role: 'user', content }],
      }
    })
  const thanked = singles
    .filter(() => random() < FOLLOW_SHARE / 4)
    .map((prompt): Prompt => ({
      ...prompt,
      messages: [...withReply(prompt), { role: 'user', content: pick(REPLIES) }],
      lane: 'spark',
      also: [],
    }))
  return [...prompts, ...twisted, ...lured, ...followed, ...thanked, ...tales]
}

/** As hasty fingers write: in every sixth word of four letters or more, two neighbours swapped or a letter left out. */
function mistype(text: string, random: () => number): string {
  return text.replace(/\p{L}{4,}/gu, (word) => {
    if (random() > 1 / 6) return word
    const at = 1 + Math.floor(random() * (word.length - 2))
    const swapped = random() < 0.5 ? word.charAt(at + 1) + word.charAt(at) : word.charAt(at + 1)
    return word.slice(0, at) + swapped + word.slice(at + 2)
  })
}

function lastText(prompt: Prompt): string {
  const content = prompt.messages.at(-1)?.content
  return typeof content === 'string' ? content : ''
}

function withLast(prompt: Prompt, content: string): Prompt {
  const last: ChatMessage = { role: 'user', content }
  return { ...prompt, messages: [...prompt.messages.slice(0, -1), last] }
}
