#include "textflag.h"

// Row operations with AVX2. Each product and each sum is rounded by itself, as in portable Go: there is no FMA here.

// func dequantizeAVX2(out *float32, sums *int32, scales, bias *float32, n int, scale float32)
TEXT ·dequantizeAVX2(SB), NOSPLIT, $0-44
	MOVQ         out+0(FP), DI
	MOVQ         sums+8(FP), SI
	MOVQ         scales+16(FP), DX
	MOVQ         bias+24(FP), CX
	MOVQ         n+32(FP), R8
	VBROADCASTSS scale+40(FP), Y0
	XORQ         AX, AX

numbers:
	VCVTDQ2PS    (SI)(AX*4), Y1
	VCVTDQ2PS    32(SI)(AX*4), Y2
	VMULPS       Y0, Y1, Y1
	VMULPS       Y0, Y2, Y2
	VMULPS       (DX)(AX*4), Y1, Y1
	VMULPS       32(DX)(AX*4), Y2, Y2
	VADDPS       (CX)(AX*4), Y1, Y1
	VADDPS       32(CX)(AX*4), Y2, Y2
	VMOVUPS      Y1, (DI)(AX*4)
	VMOVUPS      Y2, 32(DI)(AX*4)
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

// func greatestAVX2(row, factors *float32, n int) uint32
TEXT ·greatestAVX2(SB), NOSPLIT, $0-28
	MOVQ         row+0(FP), SI
	MOVQ         factors+8(FP), DX
	MOVQ         n+16(FP), R8
	VPCMPEQD     Y0, Y0, Y0
	VPSRLD       $1, Y0, Y0
	VPXOR        Y1, Y1, Y1
	VPXOR        Y2, Y2, Y2
	XORQ         AX, AX

numbers:
	VMOVUPS      (SI)(AX*4), Y3
	VMOVUPS      32(SI)(AX*4), Y4
	VMULPS       (DX)(AX*4), Y3, Y3
	VMULPS       32(DX)(AX*4), Y4, Y4
	VPAND        Y0, Y3, Y3
	VPAND        Y0, Y4, Y4
	VPMAXUD      Y3, Y1, Y1
	VPMAXUD      Y4, Y2, Y2
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VPMAXUD      Y2, Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VPMAXUD      X2, X1, X1
	VPSHUFD      $0x4E, X1, X2
	VPMAXUD      X2, X1, X1
	VPSHUFD      $0xB1, X1, X2
	VPMAXUD      X2, X1, X1
	VMOVD        X1, AX
	MOVL         AX, ret+24(FP)
	VZEROUPPER
	RET

// func codesAVX2(codes *int16, row, factors *float32, n int, inverse float32)
TEXT ·codesAVX2(SB), NOSPLIT, $0-36
	MOVQ         codes+0(FP), DI
	MOVQ         row+8(FP), SI
	MOVQ         factors+16(FP), DX
	MOVQ         n+24(FP), R8
	VBROADCASTSS inverse+32(FP), Y0
	XORQ         AX, AX

numbers:
	VMOVUPS      (SI)(AX*4), Y1
	VMOVUPS      32(SI)(AX*4), Y2
	VMULPS       (DX)(AX*4), Y1, Y1
	VMULPS       32(DX)(AX*4), Y2, Y2
	VMULPS       Y0, Y1, Y1
	VMULPS       Y0, Y2, Y2
	VCVTPS2DQ    Y1, Y1
	VCVTPS2DQ    Y2, Y2
	VPACKSSDW    Y2, Y1, Y1
	VPERMQ       $0xD8, Y1, Y1
	VMOVDQU      Y1, (DI)(AX*2)
	ADDQ         $16, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET

DATA geluNumbers<>+0(SB)/4, $6.0
DATA geluNumbers<>+4(SB)/4, $-6.0
DATA geluNumbers<>+8(SB)/4, $64.0
DATA geluNumbers<>+12(SB)/4, $0.015625
DATA geluNumbers<>+16(SB)/4, $384
DATA geluNumbers<>+20(SB)/4, $-384
GLOBL geluNumbers<>(SB), RODATA|NOPTR, $24

// func geluAVX2(row *float32, table *[3]float32, n int)
TEXT ·geluAVX2(SB), NOSPLIT, $0-24
	MOVQ         row+0(FP), DI
	MOVQ         table+8(FP), SI
	MOVQ         n+16(FP), R8
	LEAQ         geluNumbers<>(SB), DX
	VBROADCASTSS 0(DX), Y10
	VBROADCASTSS 4(DX), Y11
	VBROADCASTSS 8(DX), Y12
	VBROADCASTSS 12(DX), Y13
	VPBROADCASTD 16(DX), Y14
	VPBROADCASTD 20(DX), Y15
	XORQ         AX, AX

numbers:
	VMOVUPS      (DI)(AX*4), Y0
	VMULPS       Y12, Y0, Y1
	VCVTPS2DQ    Y1, Y1
	VPMINSD      Y14, Y1, Y1
	VPMAXSD      Y15, Y1, Y1
	VCVTDQ2PS    Y1, Y2
	VMULPS       Y13, Y2, Y2
	VSUBPS       Y2, Y0, Y2
	VPADDD       Y14, Y1, Y1
	VPADDD       Y1, Y1, Y3
	VPADDD       Y1, Y3, Y1
	VPCMPEQD     Y3, Y3, Y3
	VPCMPEQD     Y4, Y4, Y4
	VPCMPEQD     Y5, Y5, Y5
	VGATHERDPS   Y3, 8(SI)(Y1*4), Y6
	VGATHERDPS   Y4, 4(SI)(Y1*4), Y7
	VGATHERDPS   Y5, (SI)(Y1*4), Y8
	VMULPS       Y6, Y2, Y6
	VADDPS       Y7, Y6, Y6
	VMULPS       Y6, Y2, Y6
	VADDPS       Y8, Y6, Y6
	VMULPS       Y6, Y0, Y6
	VCMPPS       $30, Y11, Y0, Y3
	VANDPS       Y3, Y6, Y6
	VCMPPS       $29, Y10, Y0, Y4
	VBLENDVPS    Y4, Y0, Y6, Y6
	VMOVUPS      Y6, (DI)(AX*4)
	ADDQ         $8, AX
	CMPQ         AX, R8
	JLT          numbers
	VZEROUPPER
	RET
