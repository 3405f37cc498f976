// Torture messages after RFC 4475: each is unusual or invalid in a different way. `PORT` is replaced by the port of the user agent.

const head = (start: string, lines: readonly string[], body = '') => `${[start, ...lines].join('\r\n')}\r\n\r\n${body}`;
const via = (name: string) => `Via: SIP/2.0/UDP 127.0.0.1:5099;branch=z9hG4bK-${name};rport`;
const usual = (name: string, method: string) => [
  via(name),
  'Max-Forwards: 70',
  `From: "Torture" <sip:torture@127.0.0.1>;tag=t-${name}`,
  'To: <sip:room@127.0.0.1>',
  `Call-ID: torture-${name}`,
  `CSeq: 7 ${method}`,
  'Contact: <sip:torture@127.0.0.1:5099>',
];
const sdp = 'v=0\r\no=a 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n';
const withSdp = ['Content-Type: application/sdp', `Content-Length: ${sdp.length}`];
const invite = 'INVITE sip:room@127.0.0.1:PORT SIP/2.0';
const options = 'OPTIONS sip:room@127.0.0.1:PORT SIP/2.0';
const register = 'REGISTER sip:127.0.0.1:PORT SIP/2.0';
const request = (name: string, start: string, more: readonly string[] = ['Content-Length: 0'], body = '') =>
  head(start, [...usual(name, start.split(' ')[0] ?? ''), ...more], body);
const changed = (name: string, from: string | RegExp, to: string, start = invite) => request(name, start, withSdp, sdp).replace(from, to);

/** By name in RFC 4475, or by the defect. */
export const tortureMessages: Readonly<Record<string, string>> = {
  wsinv: head(
    'INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0',
    [
      'TO :\r\n sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n',
      'from   : "J Rosenberg \\\\\\""       <sip:jdrosen@example.com>\r\n  ;\r\n  tag = 98asjd8',
      'MaX-fOrWaRdS: 0068',
      'Call-ID: wsinv.ndaksdj@192.0.2.1',
      'Content-Length   : 150',
      'cseq: 0009\r\n  INVITE',
      'Via  : SIP  /   2.0\r\n /UDP\r\n    192.0.2.2;branch=390skdjuw',
      's :',
      'NewFangledHeader:   newfangled value\r\n continued newfangled value',
      'UnknownHeaderWithUnusualValue: ;;,,;;,;',
      'Content-Type: application/sdp',
      'Route:\r\n <sip:services.example.com;lr;unknownwith=value;unknown-no-value>',
      'v:  SIP  / 2.0  / TCP     spindle.example.com   ;\r\n  branch  =   z9hG4bK9ikj8  ,\r\n SIP  /    2.0   / UDP  192.168.255.111   ; branch=\r\n z9hG4bK30239',
      'm:"Quoted string \\"\\"" <sip:jdrosen@example.com> ; newparam =\r\n      newvalue ;\r\n  secondparam ; q = 0.33',
    ],
    `${sdp}${' '.repeat(150)}`.slice(0, 150),
  ),
  intmeth: request(
    'intmeth',
    "!interesting-Method0123456789_*+`.%indeed'~ sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com SIP/2.0",
  ),
  esc01: request('esc01', 'INVITE sip:sips%3Auser%40example.com@127.0.0.1:PORT SIP/2.0', withSdp, sdp),
  escnull: request('escnull', register, ['Contact: <sip:%00@host5.example.com>', 'Contact: <sip:%00%00@host5.example.com>', 'L:0']),
  esc02: request('esc02', 'RE%47IST%45R sip:127.0.0.1:PORT SIP/2.0'),
  lwsdisp: changed('lwsdisp', '"Torture" <', 'caller<', options).replace('7 OPTIONS', '7 OPTIONS'),
  longreq: changed(
    'longreq',
    'Max-Forwards: 70',
    `Max-Forwards: 70\r\nLong: ${'x'.repeat(4000)}\r\nVia: SIP/2.0/TCP ${'a'.repeat(200)}.example`,
  ),
  dblreq: `${request('dblreq', register)}${request('dblreq2', invite, withSdp, sdp)}`,
  semiuri: request('semiuri', 'OPTIONS sip:user;par=u%40example.net@127.0.0.1:PORT SIP/2.0'),
  transports: changed('transports', via('transports'), `${via('transports')}\r\nVia: SIP/2.0/UNKNOWN a.example;branch=z9hG4bKx`, options),
  unreason:
    'SIP/2.0 200 = 2**3 * 5**2 \u043d\u043e \u0441\u0442\u043e\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK1324923\r\nCall-ID: unreason\r\nCSeq: 35 INVITE\r\nFrom: <sip:u@e>;tag=1\r\nTo: <sip:u@e>;tag=2\r\nContent-Length: 0\r\n\r\n',
  noreason:
    'SIP/2.0 100 \r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK2398ndaoe\r\nCall-ID: noreason\r\nCSeq: 35 INVITE\r\nFrom: <sip:u@e>;tag=1\r\nTo: <sip:u@e>;tag=2\r\nContent-Length: 0\r\n\r\n',
  badinv01: changed('badinv01', via('badinv01'), 'Via: SIP/2.0/UDP 192.0.2.15;;,;,,'),
  clerr: changed('clerr', /Content-Length: \d+/, 'Content-Length: 9999'),
  ncl: changed('ncl', /Content-Length: \d+/, 'Content-Length: -999'),
  scalar02: changed('scalar02', /CSeq: 7/, 'CSeq: 36893488147419103232').replace('Max-Forwards: 70', 'Max-Forwards: 300'),
  scalarlg:
    'SIP/2.0 503 Service Unavailable\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKzzxdiwo34sw;received=192.0.2.129\r\nTo: <sip:u@e>\r\nFrom: <sip:u@e>;tag=2easdjfejw\r\nCSeq: 9292394834772304023312 OPTIONS\r\nCall-ID: scalarlg\r\nRetry-After: 949302838503028349304023988\r\nWarning: 1812 overture "In Progress"\r\nContent-Length: 0\r\n\r\n',
  quotbal: changed('quotbal', 'To: <', 'To: "Mr. J. User <'),
  ltgtruri: request('ltgtruri', 'INVITE <sip:room@127.0.0.1:PORT> SIP/2.0', withSdp, sdp),
  lwsruri: request('lwsruri', 'INVITE sip:room@127.0.0.1:PORT; lr SIP/2.0', withSdp, sdp),
  lwsstart: request('lwsstart', 'INVITE  sip:room@127.0.0.1:PORT  SIP/2.0', withSdp, sdp),
  trws: request('trws', 'OPTIONS sip:room@127.0.0.1:PORT SIP/2.0  '),
  escruri: request('escruri', 'INVITE sip:room@127.0.0.1:PORT?Route=%3Csip:sip.example.com%3E SIP/2.0', withSdp, sdp),
  baddate: changed('baddate', 'Max-Forwards: 70', 'Max-Forwards: 70\r\nDate: Fri, 01 Jan 2010 16:00:00 EST'),
  regbadct: request('regbadct', register, ['Contact: sip:user@example.com?Route=%3Csip:sip.example.com%3E', 'l: 0']),
  badaspec: changed('badaspec', 'To: <sip:room@127.0.0.1>', 'To: "Watson, Thomas" < sip:t.watson@example.org >', options),
  baddn: changed('baddn', '"Torture" <', 'Bell, Alexander <', options),
  badvers: request('badvers', 'OPTIONS sip:room@127.0.0.1:PORT SIP/7.0'),
  mismatch01: changed('mismatch01', '7 OPTIONS', '7 INVITE', options),
  mismatch02: changed('mismatch02', '7 NEWMETHOD', '7 INVITE', 'NEWMETHOD sip:room@127.0.0.1:PORT SIP/2.0'),
  bigcode:
    'SIP/2.0 4294967301 better not break the receiver\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK1\r\nCall-ID: bigcode\r\nCSeq: 1 INVITE\r\nFrom: <sip:u@e>;tag=1\r\nTo: <sip:u@e>\r\nContent-Length: 0\r\n\r\n',
  badbranch: changed('badbranch', 'branch=z9hG4bK-badbranch', 'branch=z9hG4bK', options),
  insuf:
    'INVITE sip:room@127.0.0.1:PORT SIP/2.0\r\nCSeq: 193942 INVITE\r\nVia: SIP/2.0/UDP 127.0.0.1:5099;branch=z9hG4bKkdj\r\nContent-Length: 0\r\n\r\n',
  unkscm: request('unkscm', 'OPTIONS nobodyKnowsThisScheme:totallyopaquecontent SIP/2.0'),
  novelsc: request('novelsc', 'OPTIONS soap.beep://192.0.2.103:3002 SIP/2.0'),
  unksm2: changed('unksm2', 'To: <sip:room@127.0.0.1>', 'To: <isbn:2983792873>', options),
  bext01: changed('bext01', 'Max-Forwards: 70', 'Max-Forwards: 70\r\nRequire: nothingSupportsThis, nothingSupportsThisEither'),
  invut: changed('invut', 'application/sdp', 'application/unknownformat'),
  regaut01: changed('regaut01', 'Max-Forwards: 70', 'Max-Forwards: 70\r\nAuthorization: NoOneKnowsThisScheme opaque-data=here', register),
  multi01: changed(
    'multi01',
    'Max-Forwards: 70',
    'Max-Forwards: 70\r\nCSeq: 5 INVITE\r\nMax-Forwards: 5\r\nFrom: <sip:other@127.0.0.1>;tag=2',
  ),
  mcl01: changed('mcl01', 'Content-Type', 'Content-Length: 5\r\nContent-Type'),
  bcast:
    'SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 192.0.2.198;branch=z9hG4bK1324923\r\nVia: SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK1saber23\r\nCall-ID: bcast\r\nCSeq: 35 INVITE\r\nFrom: <sip:u@e>;tag=1\r\nTo: <sip:u@e>;tag=2\r\nContent-Length: 0\r\n\r\n',
  zeromf: changed('zeromf', 'Max-Forwards: 70', 'Max-Forwards: 0', options),
  cparam01: request('cparam01', register, ['Contact: sip:+19725552222@gw1.example.net;unknownparam', 'l: 0']),
  regescrt: request('regescrt', register, ['Contact: <sip:user@example.com?Route=%3Csip:sip.example.com%3E>', 'l: 0']),
  sdp01: changed('sdp01', 'Max-Forwards: 70', 'Max-Forwards: 70\r\nAccept: text/nobodyKnowsThis'),
  inv2543: `INVITE sip:room@127.0.0.1:PORT SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:5099\r\nFrom: <sip:u@e>\r\nTo: <sip:room@127.0.0.1>\r\nCall-ID: inv2543\r\nCSeq: 56 INVITE\r\nContact: <sip:u@127.0.0.1>\r\nContent-Type: application/sdp\r\n\r\n${sdp}`,
  badescape: request('badescape', 'INVITE sip:%zz@127.0.0.1:PORT SIP/2.0', withSdp, sdp),
  strayack: request('strayack', 'ACK sip:room@127.0.0.1:PORT SIP/2.0'),
  straybye: request('straybye', 'BYE sip:room@127.0.0.1:PORT SIP/2.0'),
  straycancel: request('straycancel', 'CANCEL sip:room@127.0.0.1:PORT SIP/2.0'),
  badsdp: changed('badsdp', 'm=audio', 'm=?????'),
  nocontact: changed('nocontact', /Contact: .*\r\n/, ''),
  folds: changed('folds', 'Max-Forwards: 70', `Max-Forwards: 70\r\nX:${'\r\n a'.repeat(60)}`),
};
