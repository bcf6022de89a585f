#!/bin/bash
# args: 7 3
# every operator, its side and its level, as bash has them
A=$1
B=$2
python levels.py $((A - B)) $((B - A)) $((A + B * 2)) $((A * B + 2)) $((A - B - 1)) $((A / B)) $((A % B)) $((-A / B)) $((-A % B))
python powers.py $((2 ** 10)) $((-2 ** 2)) $((2 ** 3 ** 2)) $((2 ** 5000)) $((3 ** 5000)) $((A ** 0))
python bits.py $((A & B)) $((A | B)) $((A ^ B)) $((~A)) $((A << B)) $((1024 >> B)) $((1 | 2 ^ 3 & 2))
python order.py $((A > B)) $((A >= 7)) $((A > 7)) $((A < 7)) $((A <= 7)) $((A == 7)) $((A != 7)) $((!A)) $((!0))
python bases.py $((0x10)) $((010)) $((2#101)) $((16#ff)) $((0X1f + 1))
N=4
python steps.py $((N++)) $((N)) $((++N)) $((N--)) $((--N)) $((N))
((N += 5)); ((N -= 2)); ((N *= 3)); ((N /= 2)); ((N %= 7)); ((N <<= 3)); ((N >>= 1)); ((N |= 3)); ((N ^= 5)); ((N &= 14))
python assigned.py $N $((M = N * 2)) $M $((M -= 3, M + 1))
X=1
python idle.py $((0 && (X = 5))) $X $((1 || (X = 6))) $X $((0 || (X = 7))) $X $((1 && (X = 8))) $X
python chosen.py $((A > B ? A : B)) $((A < B ? A : B)) $((A > B ? (X = 9) : (X = 10))) $X
S="A + B"
python named.py $((S * 2)) $((S)) $((UNSET_ONE + 1))
if ((A > B)); then python yes.py; fi
if ((A == B)); then python wrong.py; else python no.py; fi
let "K = A * 2" "L = K - 1"
python let.py $K $L $(expr 6 \* 7) $(expr 20 - 3 \* 4)
