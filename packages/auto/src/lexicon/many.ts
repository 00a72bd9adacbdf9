/**
 * More words for the same features. A weight that training learns in one language then holds in all. These languages have
 * few words in the other lists:
 * - Dutch, Italian, Portuguese, Romanian, Greek, Turkish, and the Scandinavian ones;
 * - Polish, Czech, Russian, Ukrainian and Serbian;
 * - Arabic, Persian, Hebrew, Hindi, Korean, Vietnamese, Thai and Indonesian.
 */

export const MANY_WORDS = {
  factWh: `wanneer|hoeveel|welke|wie heeft|hoe oud|hoe hoog|hoe ver|hoofdstad|chi ha|quando|quanti|quante|quanto|quale|dove|in che anno|quem|onde|quantos|quantas
    |qual|em que ano|kto|gdzie|kiedy|ile|jaki|jaka|jakie|ktory|ktora|kdo|kde|kdy|kolik|jaky|ktery|kim|nerede|ne zaman|kac|hangi|hangisi|kaca|siapa|dimana
    |di mana|kapan|berapa|ibu kota|yang mana|vem|nar|hvem|hvor|hvornar|hvor mange|hur manga|vilken|vilket|hvilken|кто|где|когда|сколько|какой|какая|какие
    |который|столица|в каком году|хто|де знаходиться|коли|скільки|який|яка|які|столиця|ко је|ko je|gde|kada|koliko|koji|koja|cine a|unde|cat de|cati
    |capitala|من هو|من هي|من الذي|من كتب|اين|أين|متى|كم|ما هي عاصمة|عاصمة|في اي عام|ما اسم|چه کسی|کجا|چند|کدام|کی بود|مתי|מתי|איפה|כמה|מי כתב|מי המציא|איזה
    |ποιος|ποια|που|ποτε|ποσο|ποσα|कौन|कहाँ|कब|कितने|कितना|कितनी|किसने|किस साल|राजधानी|누가|어디|언제|몇|얼마나|수도|어느|누구|몇 년|o dau|khi nao|bao nhieu|nam nao|thu do
    |bao lau|bao xa|ใคร|ที่ไหน|เมื่อไหร่|กี่|เท่าไร|เท่าไหร่|เมืองหลวง|ปีไหน`,
  whatIs: `wat is|wat zijn|wat betekent|cos'e|cosa e|che cos'e|cosa significa|che cosa|che significa|definizione|o que e|o que significa|o que sao|significado
    |definicao|co to jest|czym jest|co oznacza|co je|co znamena|ne demek|nedir|ne anlama|tanimi|apa itu|apa arti|apakah|artinya|apa yang dimaksud|vad ar
    |vad betyder|hvad er|hvad betyder|hva er|что такое|что значит|что означает|определение|що таке|що означає|sta je|sta znaci|ce este|ce inseamna|ما هو
    |ما هي|ما معنى|ما تعريف|چیست|یعنی چه|מה זה|מה פירוש|τι ειναι|τι σημαινει|मतलब|क्या होता|किसे कहते|뜻이|무슨 뜻|무엇인가|무엇인가요|뭔가요|뭐예요|la gi|nghia la gi
    |dinh nghia|คืออะไร|หมายความว่า|แปลว่า|ความหมาย`,
  howTo: `hoe kan ik|hoe maak|hoe doe|hoe moet|come si fa|come faccio|come fare|in che modo|como posso|como se faz|como eu|jak zrobic|w jaki sposob|jak moge
    |jak udelat|jak mohu|nasil|nasil yapilir|nasil yaparim|bagaimana cara|gimana|bagaimana|hur gor|hur kan|hvordan|hvordan kan|как сделать|как можно
    |каким образом|як зробити|як можна|kako da|kako se|cum pot|cum se|cum sa|كيف يمكن|كيفية|كيف اقوم|چگونه|چطور|איך אפשר|איך עושים|πως μπορω|πως να
    |कैसे करें|कैसे बनाएँ|कैसे बनाएं|방법을|어떻게 해|하는 법|làm thế nào|lam the nao|lam sao|cach|huong dan|ทำอย่างไร|วิธี|ยังไง|อย่างไร|cara membuat|cara untuk
    |gimana cara`,
  reword: `vertaal|vertaling|in het engels|naar het engels|synoniem|traduci|traduzione|in inglese|in tedesco|in francese|sinonimo|contrario|correggi|riformula
    |traduza|traduz|em ingles|para o ingles|antonimo|corrija|reescreva a frase|przetlumacz|po angielsku|na angielski|synonim|popraw|preloz|do anglictiny
    |anglicky|synonymum|cevir|cevirin|ingilizceye|ingilizcesi|turkceye|es anlamlisi|zit anlamlisi|duzelt|terjemahkan|ke bahasa|bahasa inggrisnya|sinonim
    |perbaiki kalimat|oversatt|pa engelska|oversaet|pa engelsk|переведи*|перевод|по-английски|на английский|синоним*|антоним*|исправь*|перефразируй*
    |переклади|англійською|prevedi|na engleski|tradu|in engleza|ترجم|بالانجليزية|الى الانجليزية|مرادف|عكس كلمة|صحح|ترجمه کن|به انگلیسی|תרגם|באנגלית
    |μεταφρασε|στα αγγλικα|अनुवाद|अंग्रेज़ी में|अंग्रेजी में|पर्यायवाची|विलोम|शुद्ध करो|영어로|번역|반대말|비슷한 말|맞춤법|고쳐*|높임말|sang tieng anh|tieng anh la|dong nghia
    |trai nghia|sua loi|แปล|ภาษาอังกฤษ|คำพ้อง|คำตรงข้าม|แก้คำผิด`,
  writeVerb: `schrijf|maak een|verzin|bedenk|stel je voor|scrivi|scrivere|componi|redigi|inventa|immagina|scrivimi|escreva|escrever|escreve|redija|crie|elabore
    |invente|napisz|stworz|wymysl|przygotuj|wyobraz sobie|ulóz|napis|vytvor|sestav|predstav si|yaz|yazin|yazar misin|olustur|hazirla|tasarla|kurgula|tulis
    |tuliskan|buatkan|buatlah|buat sebuah|rancang|bayangkan|susun|karang|skriv|skapa|lav en|hitta pa|напиши*|напишите|сочини*|составь*|придумай*|создай*
    |представь*|подготовь*|напишіть|склади|створи|вигадай|уяви|napisi|napravi|smisli|scrie|creeaza|redacteaza|imagineaza|اكتب|اكتبي|الف|انشئ|صمم|تخيل|اعد
    |حضر|بنویس|بساز|תכתוב|כתוב|צור|חבר|γραψε|φτιαξε|δημιουργησε|लिखो|लिखें|लिखिए|बनाओ|रचना करो|कल्पना करो|तैयार करो|써 줘|써줘|작성해|만들어|지어 줘|상상해|구상*|viet
    |hay viet|soan|sang tac|thiet ke|tuong tuong|เขียน|แต่ง|สร้าง|ออกแบบ|สมมติ|จินตนาการ|ร่าง`,
  artefact: `verhaal|gedicht|brief|toespraak|opstel|verslag|artikel|draaiboek|racconto|storia|poesia|lettera|discorso|saggio|articolo|copione|filastrocca|favola
    |poema|discurso|redacao|artigo|roteiro|resenha|opowiadanie|wiersz|list do|esej|przemowienie|artykul|bajka|rozprawka|povidka|basen|dopis|projev|pohadka
    |hikaye|siir|mektup|deneme|kompozisyon|makale|konusma metni|masal|cerita|cerpen|puisi|surat|pidato|esai|karangan|pantun|naskah|dongeng|berattelse|dikt
    |brev|uppsats|tal till|fortaelling|historie|рассказ*|стих*|письмо*|сочинение|эссе|речь|стать*|сказк*|сценари*|поздравлени*|оповідання|вірш*|лист до|есе
    |твір|казк*|prica|pesma|pismo|govor|povestire|poezie|scrisoare|eseu|discurs|قصة|قصيدة|رسالة|مقال*|خطاب|خطبة|مقدمة|سيناريو|داستان|شعر|نامه|انشا|مقاله
    |סיפור|שיר|מכתב|נאום|חיבור|ιστορια|ποιημα|γραμμα|εκθεση|ομιλια|कहानी|कविता|पत्र|निबंध|भाषण|लेख|संवाद|이야기|소설|시를|편지|연설문|글을|에세이|독후감|대본|자기소개서|기사|일기|동화
    |truyen|bai tho|tho|buc thu|thu|bai van|doan van|bai viet|kich ban|bai phat bieu|bai luan|เรื่องสั้น|นิทาน|บทความ|เรียงความ|จดหมาย|กลอน|บทกวี|สุนทรพจน์
    |บทละคร`,
  explain: `leg uit|waarom|verschil tussen|vergelijk|bespreek|beschrijf|gevolgen|oorzaken|voordelen|nadelen|samenvatting|vat samen|spiega|perche|differenza
    |confronta|descrivi|discuti|vantaggi|svantaggi|conseguenze|riassumi|riassunto|explique|por que|diferenca*|descreva|discuta|vantagens|desvantagens
    |consequencias|causas|resuma|resumo|analise|wyjasnij|dlaczego|roznica*|porownaj|opisz|omow|zalety|wady|skutki|przyczyny|stresc|wytlumacz|vysvetli|proc
    |rozdil*|porovnej|vyhody|nevyhody|dusledky|priciny|acikla|neden|nicin|fark*|karsilastir*|anlat|tartis|avantaj*|dezavantaj*|sonuclari|nedenleri|ozetle
    |ozet|jelaskan|mengapa|kenapa|perbedaan|bandingkan|uraikan|kelebihan|kekurangan|dampak|penyebab|akibat|ringkas|ringkaslah|faktor|forklara|varfor
    |skillnad*|jamfor|beskriv|fordelar|nackdelar|forklar|hvorfor|forskel*|forskjell*|sammenlign|объясни*|почему|зачем|разниц*|отлича*|сравни*|опиши*
    |расскажи*|преимущества|недостатки|последствия|причины|обсуди*|влияни*|поясни|чому|різниц*|порівняй|переваги|недоліки|наслідки|розкажи про|objasni|zasto
    |razlika*|uporedi|opisi|explica|de ce|diferenta*|compara|descrie|avantaje*|اشرح|لماذا|الفرق بين|قارن|ناقش|صف|مزايا|عيوب|اسباب|اثار|تاثير|لخص|وضح|دور
    |توضیح|چرا|تفاوت|مقایسه|مزایا|خلاصه|הסבר|למה|מדוע|הבדל|השווה|תאר|יתרונות|εξηγησε|γιατι|διαφορα|συγκρινε|περιγραψε|πλεονεκτηματα|समझाओ|समझाइए|क्यों|अंतर
    |तुलना|वर्णन|लाभ|हानि|कारण|प्रभाव|सारांश|विस्तार|설명*|왜|차이*|비교*|장단점|원인|영향*|결과를|요약*|묘사*|분석*|논하*|알려 줘|giai thich|tai sao|vi sao|khac nhau|so sanh|mo ta
    |phan tich|uu diem|nhuoc diem|nguyen nhan|hau qua|anh huong|tom tat|trinh bay|neu cam nghi|อธิบาย|ทำไม|แตกต่าง|ความต่าง|เปรียบเทียบ|บรรยาย|ข้อดี|ข้อเสีย
    |สาเหตุ|ผลกระทบ|สรุป|วิเคราะห์`,
  suggest: `tips|raad je aan|ideeen|suggereer|consigliami|consiglia|suggerimenti|idee|sugestoes|sugira|recomende|recomenda|ideias|dicas|polec|pomysly|porady
    |zaproponuj|doporuc|napady|tipy|oner|oneri*|tavsiye*|fikir*|ipucu*|sarankan|saran|rekomendasi|ide|foresla|forslag|rad om|посоветуй*|совет*|предложи*
    |идеи|порекомендуй*|порадь*|поради|ідеї|preporuci|predlozi|savet*|recomanda|sugereaza|idei|اقترح|نصائح|نصيحة|افكار|رشح|پیشنهاد|המלץ|רעיונות|טיפים
    |προτεινε|συμβουλες|ιδεες|सुझाव|सुझाओ|सलाह|उपाय|추천*|조언|아이디어|팁|goi y|loi khuyen|de xuat|y tuong|meo|แนะนำ|ไอเดีย|เคล็ดลับ|ข้อเสนอแนะ`,
  greeting: `hoi|goedemorgen|goedemiddag|ciao|buonasera|buon pomeriggio|oi|e ai|tudo bem|czesc|hejka|dobry wieczor|ahoj|dobre rano|cau|selam|merhaba|gunaydin
    |iyi aksamlar|halo|pagi|selamat siang|selamat sore|apa kabar|tjena|god kvall|god aften|привет|приветик|здорово|хай|вітаю|zdravo|dobar dan|salut|buna
    |buna ziua|مرحبا|اهلا|اهلا وسهلا|السلام عليكم|صباح الخير|مساء الخير|هلا|سلام|درود|שלום|היי|בוקר טוב|γεια|γεια σου|καλημερα|καλησπερα|नमस्ते|हाय|राम राम
    |안녕*|하이|여보세요|xin chao|chao|chao ban|alo|สวัสดี|หวัดดี|ฮัลโหล`,
  thanks: `dank je|dankjewel|bedankt|grazie|grazie mille|obrigado|obrigada|valeu|dzieki|dziekuje|diky|dekuji|tesekkurler|tesekkur ederim|sagol|makasih
    |terima kasih|trims|tack|takk|tak|спасибо|спс|благодарю|дякую|hvala|multumesc|mersi|شكرا|مشكور|تسلم|متشکرم|مرسی|ممنون|תודה|ευχαριστω|धन्यवाद|शुक्रिया
    |고마워*|고맙*|감사*|땡큐|cam on|ขอบคุณ|ขอบใจ`,
  personal: `hoe gaat het|wie ben jij|ben jij|hoe heet je|hou je van|come stai|come va|chi sei|sei un|ti piace|come ti chiami|tudo bem|quem e voce|voce e|voce gosta
    |qual e o seu nome|como voce|jak sie masz|kim jestes|jestes|lubisz|jak masz na imie|jak se mas|kdo jsi|jsi|nasilsin|sen kimsin|adin ne|misin|sever misin
    |naber|apa kabar|siapa kamu|kamu siapa|apakah kamu|kamu suka|namamu|hur mar du|vem ar du|ar du|gillar du|hvem er du|er du|kan du lide|как дела|кто ты
    |ты кто|ты любишь|как тебя зовут|ты робот|ты человек|як справи|хто ти|ти любиш|kako si|ko si ti|da li volis|ce faci|cine esti|esti|كيف حالك|من انت
    |هل انت|ما اسمك|هل تحب|چطوری|تو کی هستی|اسمت چیه|מה שלומך|מי אתה|אתה אוהב|τι κανεις|ποιος εισαι|σου αρεσει|कैसे हो|तुम कौन हो|तुम्हारा नाम|क्या तुम
    |तुम्हें|넌|너는|네 이름|뭐 해|잘 지내*|너도|ban la ai|ban ten gi|ban khoe khong|ban co|ban thich|คุณชื่ออะไร|คุณเป็น|สบายดีไหม|คุณชอบ`,
  device: `zet de|doe het licht|herinner me|speel|zet uit|zet aan|wekker|accendi|spegni|imposta|metti la sveglia|ricordami|aggiungi|alza il volume|ligue|desligue
    |liga a|desliga a|toque|tocar|lembre-me|me lembra|adicione|coloca|despertador|wlacz|wylacz|ustaw|przypomnij*|zagraj|pusc|dodaj|budzik|zapni|vypni|nastav
    |pripomen|pusti|pridej|budik|kapat|calar saati|hatirlat|ekle|sesini ac|sesini kis|alarm kur|oynat|nyalakan|matikan|setel|pasang alarm|ingatkan|putar
    |putarkan|tambahkan|bangunkan|tand|slack|stall in|paminn|spela|lagg till|taend|sluk|afspil|mind mig|tilfoj|включи*|выключи*|поставь*|напомни*|добавь*
    |разбуди*|сделай громче|увімкни|вимкни|постав|нагадай|додай|ukljuci|iskljuci|podesi|podseti|navij|porneste|opreste|seteaza|aminteste|adauga|pune|شغل
    |اطفئ|اضبط|ذكرني|اضف|ايقظني|منبه|ارفع الصوت|اخفض الصوت|روشن کن|خاموش کن|یادآوری|پخش کن|הדלק|כבה|תזכיר|נגן|הוסף|כוון|αναψε|σβησε|βαλε|θυμισε|παιξε
    |προσθεσε|चालू करो|बंद करो|लगाओ|याद दिला*|चलाओ|जोड़ो|अलार्म|켜*|꺼*|틀어*|맞춰*|추가해*|알람*|깨워*|줄여*|높여*|dat bao thuc|bat den|tat den|nhac toi|nhac|mo bai
    |bao thuc|hen gio|phat|เปิด|ปิด|ตั้งปลุก|เตือน|เล่นเพลง|เพิ่ม|ปลุก|ลดเสียง|қос|өшір|ойнат|еске сал|оятқыш`,
  tiny: `vertel een mop|een mop|gooi een|kies een|raccontami una|barzelletta|testa o croce|lancia un|me conta uma|piada|jogue|escolha um|opowiedz|kawal|rzuc
    |vtip|rekni|saka|fikra|espri|zar at|yazi tura|bir sayi sec|lelucon|lempar|pilih angka|lucu|skamt|vits|kasta|vittighed|анекдот*|шутк*|подбрось*
    |кинь кубик|жарт|анекдот|gluma|نكتة|ارم نردا|اختر رقما|جوک|בדיחה|ανεκδοτο|चुटकुला|सिक्का उछालो|농담*|웃긴|주사위|동전|ke chuyen cuoi|chuyen cuoi|tung dong xu
    |เรื่องตลก|มุก|ทอยลูกเต๋า|โยนเหรียญ`,
  household: `recept|koken|bakken|vlek|koelkast|ricetta|cucinare|cuocere|macchia|frigo|receita|cozinhar|assar|mancha|geladeira|przepis|ugotowac|upiec|plama*|lodowk*
    |recept na|uvarit|upect|skvrn*|tarif*|pisir*|leke*|buzdolab*|resep|memasak|merebus|noda|kulkas|laga mat|koka|flack|kylskap|opskrift|рецепт*|сварить
    |варить|приготовить|испечь|пятно|холодильник*|приготувати|плям*|skuvati|fleka|reteta|gatesc|pata|وصفة|اطبخ|طبخ|بقعة|الثلاجة|دستور پخت|لکه|یخچال|מתכון
    |לבשל|כתם|συνταγη|μαγειρεψω|λεκε|रेसिपी|पकाने|दाग|फ्रिज|레시피|요리|삶*|얼룩|냉장고|굽*|cong thuc nau|nau|luoc|vet ban|tu lanh|สูตร|ทำอาหาร|ต้ม|คราบ|ตู้เย็น`,
  classify: `welk woord|juist of onjuist|positief of negatief|kies het juiste|quale delle seguenti|vero o falso|positivo o negativo|scegli la|classifica|qual das
    |verdadeiro ou falso|positivo ou negativo|escolha a|classifique|ktore z|prawda czy falsz|wybierz|ktere z|pravda nebo|asagidakilerden|dogru mu yanlis mi
    |olumlu mu|siniflandir|manakah|pilihlah|benar atau salah|positif atau negatif|tentukan jenis|vilket av|ratt eller fel|hvilket af|какое из|верно ли
    |положительный или отрицательный|выбери*|определи*|яке з|правда чи|koje od|tacno ili|care dintre|adevarat sau|اي مما يلي|صح ام خطا|ايجابي ام سلبي|اختر
    |صنف|کدام یک|درست یا غلط|איזה מהבאים|נכון או לא|ποιο απο|σωστο η λαθος|निम्नलिखित|सही या गलत|चुनिए|सकारात्मक|다음 중|맞는 것|옳은 것|틀린 것|긍정|부정|고르*|골라*
    |phat bieu nao|cau nao sau day|dap an|dung hay sai|tich cuc hay tieu cuc|chon|sau day|ข้อใด|ถูกหรือผิด|จงเลือก`,
  format: `woorden|alinea*|minstens|hoogstens|zonder|parole|paragrafi|almeno|al massimo|senza usare|palavras|paragrafos|pelo menos|no maximo|sem usar|słów|akapit*
    |co najmniej|bez uzycia|slov|odstavc*|alespon|kelime|paragraf|en az|en fazla|kullanmadan|kata|minimal|maksimal|tanpa|ord|stycken|minst|hogst|afsnit
    |mindst|слов|абзац*|не менее|не более|без слов|слів|щонайменше|reci|pasusa|cuvinte|paragrafe|cel putin|كلمة|فقرات|فقرة|على الاقل|لا تزيد|بدون استخدام
    |کلمه|پاراگراف|حداقل|מילים|פסקאות|לפחות|λεξεις|παραγραφους|τουλαχιστον|शब्दों|शब्द|अनुच्छेद|कम से कम|글자|자 이상|자 이내|문단|쉼표|이상으로|chu|doan|it nhat|khong qua
    |คำ|ย่อหน้า|อย่างน้อย|ไม่เกิน`,
  now: `vandaag|morgen|gisteren|nu|momenteel|deze week|actueel|laatste|oggi|domani|ieri|adesso|ora|attualmente|questa settimana|stasera|ultimo|ultime|attuale
    |hoje|amanha|ontem|agora|atualmente|esta semana|atual|ultimas|dzis|dzisiaj|jutro|wczoraj|teraz|obecnie|aktualn*|w tym tygodniu|najnowsz*|dnes|zitra
    |vcera|ted|nyni|aktualni*|tento tyden|nejnovejsi|bugun|yarin|dun|simdi|su an|guncel|bu hafta|bu aksam|son dakika|en son|hari ini|besok|kemarin|sekarang
    |saat ini|terbaru|terkini|minggu ini|malam ini|idag|imorgon|igar|i dag|i morgen|i gar|lige nu|nuvaerende|сегодня|завтра|вчера|сейчас|теперь
    |на этой неделе|текущ*|нынешн*|последни*|сьогодні|вчора|зараз|нині|поточн*|останні|danas|sutra|juce|sada|trenutno|astazi|azi|maine|acum|اليوم|غدا|امس
    |الان|حاليا|هذا الاسبوع|الليلة|الحالي|احدث|اخر|امروز|فردا|دیروز|اکنون|היום|מחר|אתמול|עכשיו|כרגע|השבוע|σημερα|αυριο|χθες|τωρα|αυτη την εβδομαδα|आज|कल|अभी
    |फ़िलहाल|इस हफ़्ते|ताज़ा|वर्तमान|오늘|내일|어제|지금|현재|요즘|이번 주|최근|최신|주말|hom nay|ngay mai|hom qua|bay gio|hien nay|hien tai|tuan nay|toi nay|moi nhat|cuoi tuan
    |วันนี้|พรุ่งนี้|เมื่อวาน|ตอนนี้|ปัจจุบัน|สัปดาห์นี้|ล่าสุด|คืนนี้|бүгін|ертең|қазір`,
  weather: `weer|weersverwachting|regenen|regent het|che tempo|piove|pioggia|meteo|previsioni|tempo amanha|chuva|vai chover|chove|previsao|pogoda|deszcz
    |bedzie padac|snieg|pocasi|prset|hava durumu|hava nasil|yagmur|kar yag*|cuaca|hujan|prakiraan cuaca|vadret|regn|sno|vejret|vejr|været|погода|дождь|снег
    |прогноз|температура|дощ|сніг|vreme|kisa|prognoza|sneg|temperatura|vremea|ploaie|ploua|الطقس|حالة الطقس|مطر|امطار|تمطر|درجة الحرارة|هوا|باران|آب و هوا
    |מזג האוויר|גשם|καιρος|βροχη|βρεξει|मौसम|बारिश|तापमान|날씨|비 와*|비가 오*|눈 와*|눈이 오*|미세먼지|기온|thoi tiet|mua|troi|nhiet do|อากาศ|ฝน|ฝนตก|พยากรณ์|ауа райы|қар
    |жаңбыр`,
  market: `koers|prijs van|kost|aandelen|quanto costa|prezzo|borsa|cambio|azioni|quanto custa|preco|cotacao|dolar|bolsa|acoes|ile kosztuje|cena|ceny|kurs|gielda
    |akcje|kolik stoji|kurz|akcie|kac lira|fiyat*|dolar kuru|altin fiyat*|kac para|berapa harga|harga|saham|nilai tukar|pris|vad kostar|aktie*|hvad koster
    |сколько стоит|цена|цены|курс|акци*|доллар*|биткоин|скільки коштує|ціна|koliko kosta|cat costa|pret|pretul|cursul|سعر|اسعار|بكم|البورصة|الدولار|اسهم
    |قیمت|دلار|بورس|מחיר|כמה עולה|שער|בורסה|τιμη|ποσο κοστιζει|μετοχη|भाव|दाम|कीमत|शेयर|डॉलर|가격|얼마|환율|주가|시세|비트코인|gia vang|gia|bao nhieu tien|ty gia|co phieu
    |gia xang|ราคา|หุ้น|อัตราแลกเปลี่ยน|ทองคำ|น้ำมัน`,
  news: `nieuws|wie heeft gewonnen|verkiezing*|uitslag|notizie|chi ha vinto|elezioni|risultato|sciopero|noticias|quem ganhou|eleicao|eleicoes|resultado|jogo
    |greve|presidente|wiadomosci|kto wygral|wybory|wynik|mecz|strajk|zpravy|kdo vyhral|volby|vysledek|zapas|haber*|kim kazandi|secim*|skor|grev|berita
    |siapa yang menang|pemilu|hasil pertandingan|pertandingan|presiden|nyheter|vem vann|matchen|nyheder|hvem vandt|новост*|кто выиграл|выбор*|матч*|счет
    |президент*|забастовк*|новини|хто виграв|вибори|vesti|ko je pobedio|izbori|utakmic*|stiri|cine a castigat|alegeri|meci|اخبار|الاخبار|من فاز|الانتخابات
    |نتيجة|مباراة|رئيس|خبر|برنده|انتخابات|بازی|חדשות|מי ניצח|בחירות|משחק|νεα|ποιος κερδισε|εκλογες|αγωνας|समाचार|ख़बर*|कौन जीता|चुनाव|मैच|स्कोर|뉴스|소식|누가 이겼
    |선거|경기|대통령|개봉|tin tuc|ai thang|bau cu|tran dau|ket qua|chu tich|thu tuong|ข่าว|ใครชนะ|เลือกตั้ง|ผลบอล|แข่ง|นายก`,
  place: `geopend|sluit|trein|vlucht|restaurant|tafel|aperto|chiude|treno|volo|voli|ristorante|prenota|orari|autobus|aberto|trem|voo|voos|onibus|restaurante
    |reserve|horario|otwarte|zamyka|pociag|loty|restauracj*|zarezerwuj|rozklad|otevreno|vlak|restaurac*|rezervuj|acik mi|tren|ucus*|otobus|lokanta|restoran*
    |rezervasyon|sinema*|buka|tutup|kereta|penerbangan|bus|restoran|pesan meja|bioskop|tiket|oppet|flyg|restaurang|boka|tog|reserver|biograf|открыт*|поезд*
    |рейс*|ресторан*|забронируй*|расписани*|автобус*|кинотеатр*|кино|відкрит*|потяг*|забронюй|кінотеатр|otvoren*|rezervisi|bioskop*|deschis|trenul|zbor*
    |rezerva|cinema|مفتوح|يفتح|يغلق|قطار|رحلة|رحلات|مطعم|احجز|حافلة|سينما|طائرة|باز است|پرواز|رستوران|رزرو|سینما|פתוח|רכבת|טיסה|מסעדה|הזמן|קולנוע|ανοιχτο
    |τρενο|πτηση|εστιατοριο|κλεισε|सिनेमा|ट्रेन|उड़ान|फ्लाइट|रेस्तराँ|टेबल बुक|खुला|बस|열었*|열려*|기차|비행기|항공편|식당|예약*|버스|지하철|영화관|상영|첫차|막차|mo cua|dong cua
    |chuyen bay|may bay|nha hang|dat ban|xe buyt|san bay|khoi hanh|ve may bay|รถไฟ|เที่ยวบิน|ร้านอาหาร|จองโต๊ะ|รถเมล์|โรงหนัง|สนามบิน|เปิดกี่โมง|мейрамхана
    |фильм сеансы|кинотеатр`,
  sources: `bronnen|bron|onderzoek naar|fonti|con fonti|studi recenti|ricerca online|fontes|cite|referencias|estudos recentes|artigos|zrodla|badania|podaj zrodla
    |literatur*|zdroje|studie|kaynak*|arastirma*|makaleler|sumber|sertakan sumber|penelitian terbaru|jurnal|kallor|forskning|kilder|источник*|исследовани*
    |ссылк*|литератур*|джерела|дослідження|посилання|izvor*|istrazivanj*|surse|studii|مصادر|المصادر|مراجع|دراسات|ابحاث|منابع|پژوهش|מקורות|מחקרים|πηγες
    |μελετες|स्रोत|शोध|अध्ययन|संदर्भ|출처|논문|자료를|참고문헌|연구 결과|조사해*|nguon|trich dan|nghien cuu|tai lieu tham khao|แหล่งอ้างอิง|งานวิจัย|อ้างอิง|แหล่งที่มา
    |ค้นคว้า`,
  report: `marktonderzoek|mercato|settore|quote di mercato|mercado|setor|participacao de mercado|rynek|rynku|branz*|trhu|odvetvi|pazar*|sektor*|pasar|industri
    |marknad*|bransch*|marked*|рынок|рынк*|отрасл*|ринок|ринку|галуз*|trziste|piata|industrie|سوق|السوق|قطاع|صناعة|بازار|صنعت|שוק|תעשייה|αγορα|κλαδο|बाज़ार
    |उद्योग|시장*|산업*|업계|동향|현황*|thi truong|nganh|xu huong|tinh hinh|ตลาด|อุตสาหกรรม|แนวโน้ม`,
  seek: `zoek|vind|trova|trovami|cerca|cercami|encontre|procure|procuro|ache|znajdz|szukam|poszukaj|najdi|hledam|bul|ara|ariyorum|yakinda|cari|carikan|temukan
    |terdekat|hitta|sok|find mig|soger|найди*|ищу|поищи*|рядом|знайди|шукаю|поруч|nadji|pronadji|gaseste|caut|ابحث|ابحث عن|جد لي|قريب|اعثر|پیدا کن|جستجو|חפש
    |מצא|βρες|ψαχνω|ढूँढो|खोजो|पास में|찾아*|검색*|근처*|tim kiem|gan day|ค้นหา|ใกล้|หา`,
  codeNoun: `functie|funzione|funcao|funkcj*|funkce|fonksiyon|fungsi|funktion|функци*|функція|funkcij*|دالة|برنامج|مصفوفة|تابع|برنامه|פונקציה|תוכנית|συναρτηση
    |फ़ंक्शन|फंक्शन|प्रोग्राम|함수*|배열*|코드*|알고리즘|정규식|쿼리|mang|chuoi|doan ma|thuat toan|cau lenh|ฟังก์ชัน|โค้ด|อาร์เรย์|อัลกอริทึม|คำสั่ง|stringa|vettore|codice
    |lista in|algoritmo|espressione regolare|tablica|petla|zapytanie|dizi|kod|dongu|sorgu|larik|kode|perulangan|kueri|skript|slinga|массив*|цикл*|строк*|код
    |скрипт*|запрос*|алгоритм*|масив*|рядок|запит|خوارزمية|كود|الكود|سكربت|استعلام|حلقة|کد|الگوریتم|आरे|कोड|एल्गोरिदम`,
  codeVerb: `programmeer|implementeer|programma in|implementa|scrivi un programma|scrivi una funzione|escreva um programa|escreva uma funcao|implemente
    |napisz program|napisz funkcje|zaimplementuj|napis program|naprogramuj|program yaz|fonksiyon yaz|kodla|buat program|tulis kode|buat fungsi|programmera
    |implementera|programmer|напиши программу|напиши функцию|реализуй*|напиши скрипт|напиши код|напиши програму|реалізуй|napisi program|scrie un program
    |scrie o functie|اكتب برنامج|اكتب دالة|تنفيذ خوارزمية|نفذ|برنامه بنویس|כתוב פונקציה|כתוב תוכנית|γραψε προγραμμα|प्रोग्राम लिखो|कोड लिखो|구현*|프로그램을|코딩*
    |함수를 작성*|viet ham|viet chuong trinh|cai dat thuat toan|เขียนโปรแกรม|เขียนฟังก์ชัน|เขียนโค้ด`,
  error: `foutmelding|werkt niet|errore|non funziona|erro|nao funciona|blad|nie dziala|chyba|nefunguje|hata|calismiyor|hatasi|galat|eror|tidak jalan|fel i
    |fungerar inte|fejl|virker ikke|ошибк*|не работает|помилк*|не працює|greska|ne radi|eroare|nu merge|خطا|لا يعمل|کار نمی کند|שגיאה|לא עובד|σφαλμα
    |δεν δουλευει|त्रुटि|एरर|에러*|오류*|안 돼|bi loi|khong chay|ข้อผิดพลาด|เออเรอร์|ไม่ทำงาน`,
  proof: `bewijs|dimostra*|dimostrare|prove que|demonstre|udowodnij|wykaz|dokaz|dokazte|kanitla*|ispatla*|gosteriniz|buktikan|tunjukkan bahwa|bevisa|visa att
    |bevis|vis at|докажи*|докажите|покажите что|доведи|доведіть|dokazi|demonstrati|aratati ca|اثبت|برهن|ثابت کن|اثبات|הוכח|αποδειξε|सिद्ध करो|सिद्ध कीजिए
    |सिद्ध करें|증명*|유도하*|보여라|보이시오|chung minh|จงพิสูจน์|พิสูจน์`,
  maths: `vergelijking|kans|driehoek|afgeleide|equazione|probabilita|triangolo|derivata|integrale|equacao|probabilidade|triangulo|derivada|rownanie
    |prawdopodobienstwo|trojkat|pochodna|calka|rovnice|pravdepodobnost|trojuhelnik|denklem*|olasilik*|ucgen|turev*|persamaan|peluang|segitiga|turunan
    |ekvation|sannolikhet|triangel|ligning|sandsynlighed|уравнени*|вероятност*|треугольник*|производн*|интеграл*|рівняння|ймовірність|трикутник|jednacin*
    |verovatnoc*|ecuatie|probabilitate*|معادلة|المعادلة|احتمال|مثلث|مشتقة|تكامل|معادله|משוואה|הסתברות|משולש|נגזרת|εξισωση|πιθανοτητα|τριγωνο|समीकरण
    |प्रायिकता|त्रिभुज|अवकलन|방정식*|확률*|삼각형*|미분*|적분*|함수 f|구하시오|구하여라|phuong trinh|xac suat|tam giac|dao ham|tich phan|ham so|nghiem|toa do|สมการ|ความน่าจะเป็น
    |สามเหลี่ยม|อนุพันธ์|ปริพันธ์`,
  physics: `snelheid|kracht|massa|velocita|forza|accelerazione|velocidade|forca|aceleracao|predkosc|sila|masa|przyspieszenie|rychlost|zrychleni|hiz|kuvvet|kutle
    |ivme|kecepatan|percepatan|hastighet|скорост*|сила|масс*|ускорени*|швидкість|прискорення|السرعة|سرعة|القوة|كتلة|سرعت|نیرو|מהירות|כוח|ταχυτητα|δυναμη|वेग
    |बल|द्रव्यमान|त्वरण|속도*|질량*|가속도*|van toc|gia toc|khoi luong|dien ap|dao dong|dong dien|mol|gam|dung dich|ความเร็ว|แรง|มวล|ความเร่ง`,
  puzzle: `raadsel|logische puzzel|indovinello|enigma|rompicapo|adivinha|charada|enigma logico|zagadk*|lamiglowk*|hadank*|bilmece|bulmaca|mantik sorusu|teka-teki
    |logisk|gade|загадк*|головоломк*|логическ*|логічн*|zagonetk*|ghicitoare|لغز|احجية|معما|חידה|γριφος|पहेली|퍼즐|수수께끼|거짓말쟁이|추리|cau do|do vui|suy luan|ปริศนา
    |ตรรกะ`,
  sums: `in totaal|elk|per dag|hoeveel blijft|dubbel|helft|in totale|ciascuno|al giorno|il doppio|quanti ne|ao todo|cada|por dia|dobro|metade|quantos sobraram
    |lacznie|kazdy|dziennie|polowa|ile zostalo|celkem|denne|polovin*|toplam|her biri|gunde|yarisi|iki kati|kac tane|seluruhnya|masing-masing|per hari
    |setengah|sisa|berapa banyak|totalt|varje|halften|i alt|hver|halvdelen|всего|кажд*|в день|половин*|вдвое|осталось|разом|кожн*|залишилось|ukupno|svaki
    |polovinu|in total|fiecare|jumatate|المجموع|كل منهم|نصف|ضعف|كم بقي|هر کدام|סך הכל|כל אחד|חצי|συνολικα|καθε|μισα|कुल|प्रत्येक|आधा|दोगुना|बचे|모두|각각|하루에|절반
    |남은|총|배만큼|tat ca|moi|moi ngay|mot nua|gap doi|con lai|tong cong|ทั้งหมด|คนละ|วันละ|ครึ่ง|เหลือ`,
  reaction: `oke|leuk|mooi zo|precies|jammer|va bene|ottimo|perfetto|bene|peccato|esatto|beleza|otimo|perfeito|que legal|exato|super|swietnie|dobra|jasne|szkoda
    |dobre|skoda|tamam|harika|guzel|aynen|peki|mantap|bagus|siap|iya|wkwk*|bra|okej|precis|fedt|fint|ок|окей|круто|супер|ясно|ага|понял|добре|клас|зрозуміло
    |vazi|odlicno|bine|perfect|ok|حسنا|تمام|رائع|ممتاز|جميل|ههه*|باشه|عالی|بسیار خوب|בסדר|מעולה|סבבה|ενταξει|τελεια|ωραια|ठीक|अच्छा|बढ़िया|वाह|오케이|좋아|대박|헐
    |그래|응|맞아|duoc roi|tuyet|hay qua|vang|haha|โอเค|ดีมาก|เยี่ยม|555*|ครับ|ค่ะ`,
  followUp: `en nu|en wat|opnieuw|nog een|e ora|e invece|ancora|di nuovo|un altro|e agora|de novo|outro|mais um|e se|a teraz|jeszcze raz|jeszcze jeden|a ted
    |jeste jeden|znovu|peki ya|bir daha|bir tane daha|simdi de|kalau|satu lagi|sekali lagi|bagaimana dengan|och nu|en till|og nu|en til|а теперь|еще раз
    |еще один|а если|а тепер|ще раз|ще один|a sad|jos jedan|si acum|inca unul|والان|مرة اخرى|واحدة اخرى|وماذا عن|حالا|یکی دیگر|ועכשיו|עוד אחד|και τωρα
    |αλλο ενα|और अब|एक और|फिर से|그럼|다시|하나 더|그러면|이번엔|the con|nua|bay gio hay|แล้ว|อีก|ใหม่`,
} as const
