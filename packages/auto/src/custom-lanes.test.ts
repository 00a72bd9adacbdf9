import { expect, test } from 'vitest'
import { chooseAuto } from './choose-auto.ts'
import { LANE_IDS } from './lanes.ts'
import { trainCustomLanes, type CustomLaneExamples } from './custom-lanes.ts'

const TENANCY: CustomLaneExamples = {
  lane: 'house-law',
  description: 'Questions of tenancy law: landlords, tenants, rent, deposits, notice periods, repairs in flats.',
  examples: [
    'My landlord refuses to return the deposit, what can I do?',
    'How long is the notice period for a flat?',
    'May the landlord enter my flat without notice?',
    'The heating has been broken for a week, can I reduce the rent?',
    'Is a rent increase of 15 percent legal?',
    'Darf mein Vermieter die Miete erhöhen?',
    'Wie lange ist die Kündigungsfrist für meine Wohnung?',
    'My tenant has not paid the rent for two months',
  ],
}
const KITCHEN: CustomLaneExamples = {
  lane: 'house-kitchen',
  description: 'Recipes, ingredients, cooking times and substitutions for cooks.',
  examples: [
    'A recipe for lentil soup with carrots',
    'How long do I roast a chicken of two kilos?',
    'What can replace eggs in a cake?',
    'Ingredients for pad thai for four',
    'My bread dough does not rise, which flour should I bake with?',
    'Rezept für Kartoffelsuppe',
    'How do I cook risotto without wine?',
    'Quick dinner with pasta and spinach',
  ],
}
const CUSTOM_LANES = trainCustomLanes([TENANCY, KITCHEN])
const ALL = [...Object.values(LANE_IDS), TENANCY.lane, KITCHEN.lane]

function choose(content: string, laneIds = ALL): string {
  return chooseAuto([{ role: 'user', content }], laneIds, { customLanes: CUSTOM_LANES }).laneId
}

test.each([
  'Can my landlord keep my deposit because of a scratch?',
  'the flat above leaks into mine, must the landlord repair it or do I pay less rent',
  'Muss mein Vermieter die Miete senken, wenn die Heizung ausfällt?',
])('tenancy: %s', (text) => {
  expect(choose(text)).toBe('house-law')
})

test.each(['recipe for carrot cake with lentil flour', 'how long do I cook a kilo of potatoes', 'Rezept für Risotto'])(
  'kitchen: %s',
  (text) => {
    expect(choose(text)).toBe('house-kitchen')
  },
)

test.each([
  ['¿Puede mi casero quedarse con la fianza del alquiler?', 'house-law'],
  ['房东可以涨房租吗？', 'house-law'],
  ['집주인이 보증금을 돌려주지 않아요', 'house-law'],
  ['Mon propriétaire peut-il augmenter le loyer ?', 'house-law'],
  ['¿Con qué puedo sustituir los huevos en un pastel?', 'house-kitchen'],
  ['蛋糕里可以用什么代替鸡蛋？', 'house-kitchen'],
])('a language that no example is in: %s', (text, laneId) => {
  expect(choose(text)).toBe(laneId)
})

test.each([
  ['Escribe un poema sobre el otoño', LANE_IDS.nova],
  ['明天北京天气怎么样？', LANE_IDS.research],
  ['고마워요!', LANE_IDS.spark],
  ['Prove that there is no largest prime number', LANE_IDS.atlas],
  ['write a python function that merges two sorted lists', LANE_IDS.code],
  ['thank you so much!', LANE_IDS.spark],
  ['what is the weather in Lyon tomorrow', LANE_IDS.research],
  ['What is the capital of Mongolia?', LANE_IDS.bolt],
])('a prompt of neither lane keeps its lane: %s', (text, laneId) => {
  expect(choose(text)).toBe(laneId)
})

test('a custom lane that may not be used is never chosen, and a short message follows the one before', () => {
  expect(choose('My landlord keeps my deposit', Object.values(LANE_IDS))).not.toBe('house-law')
  const messages = [
    { role: 'user' as const, content: 'May my landlord raise the rent of the flat by 20 percent?' },
    { role: 'assistant' as const, content: 'Not always.' },
    { role: 'user' as const, content: 'and for shops?' },
  ]
  expect(chooseAuto(messages, ALL, { customLanes: CUSTOM_LANES })).toMatchObject({
    laneId: 'house-law',
    reason: 'own-lane',
  })
})
